/**
 * The labelled sets of `sets/`, as events: what leaks, with what must be gone from it, and what
 * must stay. A file has a row of JSON a line. In an event `§` is where the secret stands;
 * `{"JSON": …}` is the text of that JSON, `{"SLASHED": …}` the same with its slashes escaped and
 * `{"NUMBER": …}` a number.
 */
import { readFileSync } from 'node:fs'
import type { Random } from '../random.ts'
import { draw, drawText, type Patterns, type Secret } from './generator.ts'

/** An event in which a secret leaks. */
export interface Leak {
  /** What the report counts together. */
  readonly kind: string
  readonly name: string
  /** Where in an event, for what stands in several. */
  readonly place: string
  readonly event: object
  /** Must not be in what comes out, not even in part. */
  readonly cores: readonly string[]
  /** Must be in what comes out. */
  readonly keeps: readonly string[]
}

/** An event that must come out as it is. */
export interface Plain {
  readonly kind: string
  readonly name: string
  readonly event: object
}

type Place = readonly [name: string, event: unknown, keeps?: readonly string[]]

function rows<Row>(name: string): readonly Row[] {
  // From `dist/`, where nothing but code is.
  const path = new URL(`../../../bench/redaction/sets/${name}.ndjson`, import.meta.url)
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

function fill(template: unknown, secret: string): unknown {
  if (typeof template === 'string') return template.replace('§', () => secret)
  if (Array.isArray(template)) return template.map((item) => fill(item, secret))
  if (typeof template !== 'object' || template === null) return template
  const members = Object.entries(template).map(
    ([key, value]) => [key, fill(value, secret)] as const,
  )
  const [key, value] = members[0] ?? []
  if (key === 'JSON') return JSON.stringify(value)
  if (key === 'SLASHED') return JSON.stringify(value).replaceAll('/', '\\/')
  if (key === 'NUMBER') return Number(value)
  return Object.fromEntries(members)
}

function leak(
  kind: string,
  name: string,
  { text, cores }: Secret,
  [place, event, keeps = []]: Place,
): Leak {
  return { kind, name, place, event: fill(event, text) as object, cores, keeps }
}

/** First set, and texts whose surroundings tell: string values, with names that tests draw by. */
export const VALUE_SECRETS = new Map(rows<readonly [name: string, Patterns]>('value-secrets'))
export const VALUE_LOOK_ALIKES = rows<string>('value-look-alikes')
export const SURROUNDINGS = rows<string>('value-surroundings')
export const TEXT_CREDENTIALS = rows<string>('text-credentials')
/** Lines of configuration files: nothing else is on them. */
export const SETTING_LINES = rows<string>('text-setting-lines')
export const TEXT_LOOK_ALIKES = rows<string>('text-look-alikes')

export function drawSecret(random: Random, name: string): string {
  return drawText(random, VALUE_SECRETS.get(name)!)
}

/** Second set. A token has no white space, a phrase has blanks, a block has lines. */
export const FIELD_SECRETS = rows<readonly [name: string, kind: string, Patterns]>('field-secrets')

/** Every format in every place it fits, and every key with a value of each type under it. */
export function drawFieldLeaks(random: Random, samplesEach: number): Leak[] {
  const places = rows<readonly [name: string, kinds: string, event: unknown]>('field-places')
  const secrets = FIELD_SECRETS.flatMap(([name, kind, patterns]) =>
    places
      .filter(([, kinds]) => kinds.split(' ').includes(kind))
      .flatMap(([place, , event]) =>
        Array.from({ length: samplesEach }, () => {
          const { text, cores } = draw(random, patterns)
          return leak(name, place, { text, cores: cores.map(withoutSlashes) }, ['', event])
        }),
      ),
  )
  const keys = rows<string>('field-keys').flatMap((key) => {
    const core = `v${random.hex(12)}`
    const number = 1e9 + random.below(1e9)
    const values: [value: unknown, core: string][] = [
      [core, core],
      [number, String(number)],
      [{ value: core, n: number }, core],
      [[core, [number]], core],
    ]
    return values.flatMap(([value, inside]) => {
      const events = [
        { a: 1, [key]: value },
        { a: { b: [{ [key]: value }] } },
        { log: JSON.stringify({ [key]: value }) },
      ]
      return events.map((event) =>
        leak('denylisted keys', key, { text: '', cores: [inside] }, ['', event]),
      )
    })
  })
  return [...secrets, ...keys]
}

/** The longest stretch that no way of escaping changes. */
function withoutSlashes(core: string): string {
  return core.split('/').reduce((longest, each) => (each.length > longest.length ? each : longest))
}

export function drawFieldPlain(random: Random, samplesEach: number): Plain[] {
  const drawn = rows<string>('field-patterns').flatMap((pattern) =>
    Array.from({ length: samplesEach }, () => drawText(random, pattern)),
  )
  const members = rows<readonly [key: string, value: unknown]>('field-members')
  return [
    ...[...rows<string>('field-lines'), ...drawn].flatMap((text) => [
      { message: text },
      { log: `INFO ${text}` },
      { items: [{ text: `"${text}"` }] },
      { nested: JSON.stringify({ a: { text } }) },
    ]),
    ...members.flatMap(([key, value]) => [{ [key]: value }, { a: [{ [key]: value }] }]),
  ].map((event) => plain('ordinary', event))
}

function plain(kind: string, event: object, name = JSON.stringify(event)): Plain {
  return { kind, name, event }
}

/** Third set. */
export const SCENES =
  rows<readonly [kind: string, name: string, Patterns, event: unknown, keeps?: readonly string[]]>(
    'third-scenes',
  )
export const VENDORS = rows<readonly [kind: string, name: string, pattern: string]>('third-vendors')
export const SECRET_NAMES = rows<readonly [Patterns, names: string]>('third-names').flatMap(
  ([patterns, names]) => names.split(' ').map((name) => ({ name, patterns })),
)
export const PLAIN_NAMES = rows<readonly [name: string, value: unknown]>('third-plain-names')
export const PLAIN_TEXTS = rows<string>('third-plain-texts')

export function drawThirdLeaks(random: Random, samplesEach: number): Leak[] {
  const places = rows<Place>('third-places')
  return Array.from({ length: samplesEach }, () => [
    ...VENDORS.flatMap(([kind, name, pattern]) =>
      places.map((place) => leak(kind, name, draw(random, pattern), place)),
    ),
    ...SECRET_NAMES.flatMap(({ name, patterns }, index) =>
      drawName(random, name, patterns, index % 2 === 0 ? 'message' : 'body'),
    ),
    ...SCENES.map(([kind, name, patterns, event, keeps]) =>
      leak(kind, name, draw(random, patterns), ['', event, keeps]),
    ),
  ]).flat()
}

/** A name at the root, deeper, and in JSON that a string holds. */
function drawName(random: Random, name: string, patterns: Patterns, holder: string): Leak[] {
  const inString = { [holder]: { JSON: { phase: 'boot', [name]: '§', region: 'eu' } } }
  const keeps = ['\\"phase\\":\\"boot\\"', '\\"region\\":\\"eu\\"']
  const asString = draw(random, patterns)
  const root = { level: 'debug', msg: 'settings', [name]: '§' }
  const inner = { ctx: { items: [{ id: 'a', [name]: '§' }] } }
  return [
    leak('secret names', name, draw(random, patterns), ['the root', root]),
    leak('secret names', name, draw(random, patterns), ['an inner object', inner]),
    leak('secret names, JSON in strings', name, asString, [holder, inString, keeps]),
  ]
}

export function drawThirdPlain(random: Random, lines: readonly string[]): Plain[] {
  const inJson = (member: object) => ({
    message: JSON.stringify({ phase: 'boot', ...member, region: 'eu' }),
  })
  return [
    ...PLAIN_NAMES.flatMap(([name, value]) =>
      [
        { level: 'debug', msg: 'settings', [name]: value },
        { ctx: { items: [{ id: 'a', [name]: value }] } },
        inJson({ [name]: value }),
      ].map((event) => plain('look-alike names', event, name)),
    ),
    ...PLAIN_TEXTS.flatMap((name) => {
      const text = drawText(random, name)
      return [
        { message: text },
        { log: `INFO ${text}\n`, stream: 'stdout' },
        { batch: { items: [text] } },
        inJson({ text }),
      ].map((event) => plain('look-alike values and lines', event, name))
    }),
    ...rows<object>('third-events').map((event) => plain('whole ordinary events', event)),
    ...lines.map((line) => plain('log lines', { message: line }, line)),
  ]
}

export const HELD_OUT = ', held out'

/**
 * Fourth set: names from manuals, each the key of an event. Every other one is held out: the rules
 * were corrected by those of the other half alone. The value is of no known form, so that only the
 * name can say what it is.
 */
export function drawManualLeaks(random: Random): Leak[] {
  const names = new Map<string, Set<string>>()
  for (const [kind, words] of rows<readonly [kind: string, names: string]>('manual-names')) {
    names.set(kind, new Set([...(names.get(kind) ?? []), ...words.split(' ')]))
  }
  return [...names].flatMap(([kind, distinct]) => {
    const list = [...distinct]
    const half = (rest: number) => list.filter((_, i) => i % 2 === rest)
    const leaks = (name: string, kind: string) =>
      leak(kind, name, draw(random, '{a32}'), ['', { [name]: '§' }])
    return [
      ...half(0).map((name) => leaks(name, kind)),
      ...half(1).map((name) => leaks(name, kind + HELD_OUT)),
    ]
  })
}

/** Names from the same sources that hold no secret, by the value that stands in them. */
export function manualPlain(): Plain[] {
  return rows<readonly [value: unknown, names: string]>('manual-plain-names').flatMap(
    ([value, names]) => names.split(' ').map((name) => plain('manual names', { [name]: value })),
  )
}
