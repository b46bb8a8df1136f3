/**
 * Bodies by a template: JSON with placeholders in its texts, and no logic. A placeholder never
 * becomes more than text in the text where it stands, so no value of an event can end a string or
 * add a member.
 *
 *   "{{rule}} of {{labels.service}}"   text; empty where there is no such label
 *   "{{json:value}}"                   alone in a text: the value as it is, such as a number
 *
 * A member that is one placeholder without a value is left out.
 */
import { malformed } from '../../errors.ts'
import {
  ALERT_BODY_CHARS_MAX,
  ALERT_TEMPLATE_BYTES_MAX,
  ALERT_TEMPLATE_PLACEHOLDERS_MAX,
} from '../../limits.ts'
import { MarkedUp } from './markup.ts'
import { numberText } from './message-words.ts'
import { cutText, withoutHidden } from './plain-text.ts'
import { FIELD_NAMES, MAPS, type TemplateFields } from './template-fields.ts'

const PLACEHOLDER = /\{\{ *(json:)? *([a-z_]+)(?:\.([A-Za-z0-9_.-]{1,128}))? *\}\}/g
const ALONE = new RegExp(`^${PLACEHOLDER.source}$`)
const DEPTH_MAX = 16
/** Of one placeholder. */
const VALUE_CHARS_MAX = 4_000

/** Throws `malformed`, naming what is wrong with it. */
export function checkTemplate(template: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(template))
  if (bytes > ALERT_TEMPLATE_BYTES_MAX) {
    const limit = `ALERT_TEMPLATE_BYTES_MAX (${ALERT_TEMPLATE_BYTES_MAX})`
    throw malformed(`"template" is ${bytes} bytes of JSON, over ${limit}`)
  }
  let count = 0
  for (const text of textsOf(template, 0)) {
    for (const [whole, json, name, key] of text.matchAll(PLACEHOLDER)) {
      count++
      checkPlaceholder({ whole, name: name!, key, isAlone: ALONE.test(text), isJson: !!json })
    }
    const rest = text.replace(PLACEHOLDER, '')
    if (/\{\{|\}\}/.test(rest)) {
      const words = 'such as {{title}} or {{labels.service}}'
      throw malformed(`"template" has braces that are no placeholder, ${words}`)
    }
  }
  if (count > ALERT_TEMPLATE_PLACEHOLDERS_MAX) {
    const limit = `ALERT_TEMPLATE_PLACEHOLDERS_MAX (${ALERT_TEMPLATE_PLACEHOLDERS_MAX})`
    throw malformed(`"template" has ${count} placeholders, over ${limit}`)
  }
}

interface Placeholder {
  readonly whole: string
  readonly name: string
  readonly key: string | undefined
  readonly isAlone: boolean
  readonly isJson: boolean
}

function checkPlaceholder({ whole, name, key, isAlone, isJson }: Placeholder): void {
  const isMap = MAPS.some((map) => map === name)
  if (!isMap && !FIELD_NAMES.some((field) => field === name)) {
    const known = [...FIELD_NAMES, ...MAPS.map((map) => `${map}.NAME`)].join(', ')
    throw malformed(`"template" has ${whole}: there are ${known}`)
  }
  if (isMap && key === undefined && !isJson) throw malformed(`"template" has ${whole}: a NAME`)
  if (!isMap && key !== undefined) throw malformed(`"template" has ${whole}: ${name} has no parts`)
  if (isJson && !isAlone) {
    throw malformed(`"template" has ${whole} beside other text: it must stand alone`)
  }
}

function* textsOf(value: unknown, depth: number): Generator<string> {
  if (depth > DEPTH_MAX) throw malformed(`"template" is nested deeper than ${DEPTH_MAX}`)
  if (typeof value === 'string') yield value
  if (typeof value !== 'object' || value === null) return
  for (const part of Object.values(value)) yield* textsOf(part, depth + 1)
}

/** The body, at most ALERT_BODY_CHARS_MAX of it from values: what is over is cut. */
export function renderTemplate(
  template: unknown,
  fields: TemplateFields,
  literal: (text: string) => string,
): unknown {
  return new Rendering(fields, literal).render(template)
}

class Rendering {
  readonly #fields: TemplateFields
  readonly #literal: (text: string) => string
  #room = ALERT_BODY_CHARS_MAX

  constructor(fields: TemplateFields, literal: (text: string) => string) {
    this.#fields = fields
    this.#literal = literal
  }

  /** Undefined: there is no value. */
  render(part: unknown): unknown {
    if (typeof part === 'string') return this.#renderText(part)
    if (typeof part !== 'object' || part === null) return part
    if (Array.isArray(part)) return part.map((each) => this.render(each) ?? null)
    const members = Object.entries(part).map(([name, each]) => [name, this.render(each)] as const)
    return Object.fromEntries(members.filter(([, value]) => value !== undefined))
  }

  #renderText(text: string): unknown {
    const [whole, json, name, key] = ALONE.exec(text) ?? []
    if (whole !== undefined && json !== undefined) return this.#valueOf(name!, key)
    const rendered = text.replaceAll(PLACEHOLDER, (_, __, field: string, part?: string) => {
      return this.#textOf(field, part)
    })
    return whole !== undefined && rendered === '' ? undefined : rendered
  }

  #textOf(name: string, key: string | undefined): string {
    const value = this.#find(name, key)
    if (value === undefined || value === null) return ''
    const { isMarkedUp, text } = asText(value)
    const cut = cutText(text, Math.min(this.#room, isMarkedUp ? this.#room : VALUE_CHARS_MAX))
    this.#room -= cut.length
    return isMarkedUp ? cut : this.#literal(withoutHidden(cut))
  }

  #valueOf(name: string, key: string | undefined): unknown {
    const value = this.#find(name, key)
    if (value === undefined || value === null) return undefined
    if (typeof value === 'string' || value instanceof MarkedUp) return this.#textOf(name, key)
    const { length } = JSON.stringify(value)
    if (length > this.#room) return undefined
    this.#room -= length
    return value
  }

  #find(name: string, key: string | undefined): unknown {
    const { [name]: value } = this.#fields as Readonly<Record<string, unknown>>
    if (key === undefined) return value
    const map = (value ?? {}) as Readonly<Record<string, unknown>>
    return Object.hasOwn(map, key) ? map[key] : undefined
  }
}

function asText(value: unknown): { readonly isMarkedUp: boolean; readonly text: string } {
  if (value instanceof MarkedUp) return { isMarkedUp: true, text: value.text }
  if (typeof value === 'number') return { isMarkedUp: false, text: numberText(value) }
  return { isMarkedUp: false, text: typeof value === 'string' ? value : JSON.stringify(value) }
}
