/**
 * Redaction written down plainly, on values: what the transforms are compared with. Objects are
 * lists of members, so that duplicate keys and their order are kept.
 */
import {
  normalizePath,
  normalizePathSegment,
  normalizeSegment,
} from '../../../src/model/redact/redact-path.ts'
import { DENYLISTED_SEGMENTS } from '../../../workers/transform/names/secret-words.ts'

/** What a name of the model says of strings, of numbers and of what holds others. */
export type NameKind = 'weak' | 'string' | 'secret'

export type Tree = null | boolean | number | string | readonly Tree[] | TreeObject

export interface TreeObject {
  readonly members: readonly (readonly [key: string, value: Tree])[]
}

export interface ModelRules {
  readonly redactFields: readonly string[]
  readonly isSecret: (value: string) => boolean
  /** Names by their last words, as a table: the model knows no words. */
  readonly names: ReadonlyMap<string, NameKind>
  /** Texts that are no secrets, whatever names them. */
  readonly flags: ReadonlySet<string>
}

const RAW = /(^|\.)(_raw|_svc_raw)$/
const PAIR_NAMES = ['name', 'header']
const PAIR_VALUES = ['value', 'v']
const HEADER_LISTS = ['headers']
const WEAK_CHARS_MIN = 6
const WORDS = /^[a-z_]+$/

export function isObject(tree: Tree): tree is TreeObject {
  return tree !== null && typeof tree === 'object' && !Array.isArray(tree)
}

/** A redacted value's place: the steps to it, elements of arrays told apart. */
type Place = readonly string[]

/** A copy of a value, redacted but for raw keys, and the places of what was. */
interface Visited {
  readonly value: Tree
  readonly hits: readonly Place[]
}

/** What an array is in. */
interface Around {
  readonly path: string[]
  readonly place: Place
  /** Of a weak name that holds it. */
  readonly kind: NameKind | undefined
  /** It is itself an element. */
  readonly isInArray: boolean
}

export function redactTree(tree: TreeObject, rules: ModelRules): TreeObject {
  return new Model(rules).redact(tree)
}

class Model {
  readonly #rules: ModelRules
  readonly #fields: ReadonlySet<string>
  #elements = 0
  /** Raw keys with nothing redacted beside them, and the place of the object around. */
  readonly #raws: { member: [string, Tree]; around: Place; own: number }[] = []

  constructor(rules: ModelRules) {
    this.#rules = rules
    this.#fields = new Set(rules.redactFields.map(normalizePath))
  }

  redact(tree: TreeObject): TreeObject {
    const { value, hits } = this.#visit(tree, [], [])
    for (const { member, around, own } of this.#raws) {
      const isWithin = (hit: Place) => around.every((step, i) => step === hit[i])
      const within = hits.filter((hit) => hit.length > around.length && isWithin(hit))
      if (within.length > own) member[1] = null
    }
    return value as TreeObject
  }

  #isSecretUnder(kind: NameKind | undefined, value: Tree): boolean {
    if (kind === undefined || value === null || typeof value === 'boolean') return false
    if (typeof value !== 'string') return kind === 'secret'
    if (this.#rules.flags.has(value)) return false
    return kind !== 'weak' || (value.length >= WEAK_CHARS_MIN && !WORDS.test(value))
  }

  /** `kind`: of a weak name that holds the value, in arrays or not. */
  #visit(value: Tree, path: string[], place: Place, kind?: NameKind): Visited {
    if (typeof value === 'string') {
      const isNamed = kind !== 'secret' && this.#isSecretUnder(kind, value)
      return isNamed || this.#rules.isSecret(value) ? redacted(value, place) : { value, hits: [] }
    }
    if (Array.isArray(value)) {
      return this.#visitArray(value, { path, place, kind, isInArray: false })
    }
    return isObject(value) ? this.#visitObject(value, path, place) : { value, hits: [] }
  }

  #visitArray(list: readonly Tree[], around: Around): Visited {
    const visited = list.map((_, i) => this.#visitElement(list, i, around))
    return { value: visited.map((e) => e.value), hits: visited.flatMap((e) => e.hits) }
  }

  #visitElement(
    list: readonly Tree[],
    i: number,
    { path, place, kind, isInArray }: Around,
  ): Visited {
    const { names } = this.#rules
    const element = list[i]!
    const before = list[i - 1]
    const nameBefore = typeof before === 'string' ? names.get(before) : undefined
    const isPair = isInArray && list.length === 2 && i === 1
    if (typeof element === 'string') {
      const isHeader = !isInArray && HEADER_LISTS.includes(path.at(-1) ?? '') && i % 2 === 1
      const isValue = (isPair || isHeader) && !names.has(element)
      if (isValue && this.#isSecretUnder(nameBefore, element)) return redacted(element, place)
      const isArgument = this.#isFlagged(before, element) || this.#isAssigned(element)
      return isArgument ? redacted(element, place) : this.#visit(element, path, place, kind)
    }
    const inner = [...place, `element ${this.#elements++}`]
    if (!Array.isArray(element)) return this.#visit(element, path, inner, kind)
    if (isPair && nameBefore === 'secret') return redacted(element, place)
    return this.#visitArray(element, { path, place: inner, kind, isInArray: true })
  }

  #isFlagged(before: Tree | undefined, text: string): boolean {
    if (typeof before !== 'string' || !before.startsWith('--')) return false
    const kind = this.#rules.names.get(before.slice(2))
    return !text.startsWith('--') && this.#isSecretUnder(kind, text)
  }

  #isAssigned(text: string): boolean {
    const [, name, value] = /^(?:--)?(\w+)=(.*)$/s.exec(text) ?? []
    return name !== undefined && this.#isSecretUnder(this.#rules.names.get(name), value!)
  }

  #isWhole(key: string, path: readonly string[], value: Tree): boolean {
    if (value === null) return false
    const segments = key.split('.').map(normalizePathSegment)
    const prefixes = segments.map((_, i) => [...path, ...segments.slice(0, i + 1)].join('.'))
    return (
      key.split('.').some((segment) => DENYLISTED_SEGMENTS.has(normalizeSegment(segment))) ||
      prefixes.some((prefix) => this.#fields.has(prefix)) ||
      (this.#rules.names.get(key) === 'secret' && this.#isSecretUnder('secret', value))
    )
  }

  #visitObject(object: TreeObject, path: string[], place: Place): Visited {
    const pairNames = object.members.map(([key, value]) =>
      PAIR_NAMES.includes(key) && typeof value === 'string' ? this.#nameIn(value) : undefined,
    )
    const kind = (['secret', 'string', 'weak'] as const).find((each) => pairNames.includes(each))
    const members = object.members.map(([key, value]): readonly [string, Visited] => {
      const inner = [...place, ...key.split('.')]
      if (this.#isWhole(key, path, value)) return [key, redacted(value, inner)]
      const isPairValue = PAIR_VALUES.includes(key) && typeof value !== 'number'
      if (isPairValue && this.#isSecretUnder(kind, value)) return [key, redacted(value, inner)]
      const innerPath = [...path, ...key.split('.').map(normalizePathSegment)]
      return [key, this.#visit(value, innerPath, inner, this.#rules.names.get(key))]
    })
    const hits = members.flatMap(([, each]) => each.hits)
    return { value: this.#clearRaws(object, members, hits, place), hits }
  }

  /** What a string names; signs around it count for nothing. */
  #nameIn(text: string): NameKind | undefined {
    return this.#rules.names.get(text.replace(/^-+|=$/g, ''))
  }

  /** Clears the raw keys beside what was redacted within the same braces; notes the others. */
  #clearRaws(
    object: TreeObject,
    visited: readonly (readonly [string, Visited])[],
    hits: readonly Place[],
    place: Place,
  ): TreeObject {
    const members = visited.map(([key, { value }]): [string, Tree] => [key, value])
    for (const [i, member] of members.entries()) {
      const own = visited[i]![1].hits.length
      if (!RAW.test(member[0])) continue
      const isBeside = hits.length > own || (own > 0 && typeof object.members[i]![1] !== 'string')
      const around = [...place, ...member[0].split('.').slice(0, -1)]
      if (isBeside) member[1] = null
      else this.#raws.push({ member, around, own })
    }
    return { members }
  }
}

function redacted(value: Tree, place: Place): Visited {
  return { value: typeof value === 'string' ? '[REDACTED]' : null, hits: [place] }
}

/** Spells a tree as JSON: `spell` writes a string's inside, `gap` is the white space of tokens. */
export function writeTree(tree: Tree, spell: (value: string) => string, gap = ''): string {
  if (typeof tree === 'string') return `"${spell(tree)}"`
  if (Array.isArray(tree)) {
    const elements = tree.map((element) => writeTree(element, spell, gap))
    return `[${gap}${elements.join(`${gap},${gap}`)}${gap}]`
  }
  if (!isObject(tree)) return JSON.stringify(tree)
  const members = tree.members.map(
    ([key, value]) => `"${spell(key)}"${gap}:${gap}${writeTree(value, spell, gap)}`,
  )
  return `{${gap}${members.join(`${gap},${gap}`)}${gap}}`
}

/** Reads JSON into a tree, duplicate keys and all. Takes valid JSON only. */
export function readTree(text: string): Tree {
  let pos = 0
  const space = () => {
    while (' \t\r\n'.includes(text[pos] ?? 'x')) pos++
  }
  const string = (): string => {
    const start = pos++
    while (text[pos] !== '"') pos += text[pos] === '\\' ? 2 : 1
    return JSON.parse(text.slice(start, ++pos))
  }
  const value = (): Tree => {
    space()
    const char = text[pos]
    if (char === '"') return string()
    if (char === '[') return list(']', value)
    if (char === '{') {
      const member = (): readonly [string, Tree] => {
        space()
        const key = string()
        space()
        pos++
        return [key, value()]
      }
      return { members: list('}', member) }
    }
    const start = pos
    while (pos < text.length && !',]} \t\r\n'.includes(text[pos]!)) pos++
    return JSON.parse(text.slice(start, pos))
  }
  const list = <T>(close: string, read: () => T): T[] => {
    const items: T[] = []
    pos++
    space()
    while (text[pos] !== close) {
      items.push(read())
      space()
      if (text[pos] === ',') pos++
      space()
    }
    pos++
    return items
  }
  return value()
}
