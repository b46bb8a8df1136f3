/** Structured data, CEF, LEEF and JSON in messages, by regular expressions. */
import { SYSLOG_PAIRS_MAX } from '../../../src/limits.ts'

type Pairs = [name: string, value: string][]
const CEF_NAMES =
  'version deviceVendor deviceProduct deviceVersion deviceEventClassId name severity'.split(' ')
const LEEF_NAMES = 'version vendor product productVersion eventId'.split(' ')

/** Elements at the beginning of the text, if they are any, and what is behind. */
export function structuredData(
  text: string,
): { sd: Record<string, unknown>; rest: string } | undefined {
  const groups = new Map<string, Pairs>()
  let count = 0
  let rest = text
  while (rest.startsWith('[')) {
    const id = /^\[([^\0-\x20="\]]+)/.exec(rest)
    if (id === null) return undefined
    const pairs = groups.get(id[1]!) ?? []
    groups.set(id[1]!, pairs)
    rest = rest.slice(id[0].length)
    for (;;) {
      const param = /^ +([^\0-\x20="\]]+)="((?:\\["\\\]]|\\(?!["\\\]])|[^"\\])*)"/s.exec(rest)
      if (param === null) break
      pairs.push([param[1]!, param[2]!.replaceAll(/\\(["\\\]])/g, '$1')])
      count++
      rest = rest.slice(param[0].length)
    }
    const end = /^ *\]/.exec(rest)
    if (end === null) return undefined
    rest = rest.slice(end[0].length)
  }
  if (groups.size === 0 || groups.size > SYSLOG_PAIRS_MAX || count > SYSLOG_PAIRS_MAX) {
    return undefined
  }
  const sd = Object.fromEntries([...groups].map(([id, pairs]) => [id, objectOf(pairs)]))
  return { sd, rest }
}

function objectOf(pairs: Pairs): Record<string, string | string[]> {
  const object = new Map<string, string | string[]>()
  for (const [name, value] of pairs) {
    const known = object.get(name)
    if (known === undefined) object.set(name, value)
    else object.set(name, [...(Array.isArray(known) ? known : [known]), value])
  }
  return Object.fromEntries(object)
}

export interface ModelPayload {
  readonly message?: string
  readonly log?: string
  readonly cef?: object
  readonly leef?: object
}

export function modelPayload(text: string): ModelPayload {
  if (text === '') return {}
  const inner = text.replace(/^[ \t]+/, '')
  const object = /^(?:@cee:[ \t]*)?(\{.*\})[ \t]*$/s.exec(inner)?.[1]
  if (object !== undefined && isJson(object)) return { log: object }
  const pairs = inner.startsWith('CEF:') ? cef(inner.slice(4)) : undefined
  if (pairs !== undefined) return { message: text, cef: objectOf(pairs) }
  const members = inner.startsWith('LEEF:') ? leef(inner.slice(5)) : undefined
  return members === undefined ? { message: text } : { message: text, leef: objectOf(members) }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function header(text: string, names: readonly string[]): [Pairs, string | undefined] | undefined {
  const field = String.raw`((?:\\[\\|]|\\(?![\\|])|[^|\\])*)`
  const all = names.map(() => field).join('\\|')
  const found = new RegExp(`^${all}(?:\\|(.*))?$`, 's').exec(text)
  if (found === null) return undefined
  const pairs = names.map((name, i): [string, string] => {
    return [name, found[i + 1]!.replaceAll(/\\([\\|])/g, '$1')]
  })
  return [pairs, found[names.length + 1]]
}

function bounded(pairs: Pairs | undefined): Pairs | undefined {
  return pairs === undefined || pairs.length > SYSLOG_PAIRS_MAX ? undefined : pairs
}

function cef(text: string): Pairs | undefined {
  const read = header(text.replace(/^ +/, ''), CEF_NAMES)
  if (read === undefined || !/^[0-9]/.test(text.replace(/^ +/, ''))) return undefined
  const members = extension(read[1] ?? '')
  return members && bounded([...read[0], ...members])
}

/** Splits before each key that a space is before. */
function extension(given: string): Pairs | undefined {
  const text = given.replace(/^ +/, '')
  if (text === '') return []
  if (!/^[A-Za-z0-9.\-_[\]]+=/.test(text)) return undefined
  const pairs: Pairs = []
  // A backslash takes the next character with it, so neither is part of a key.
  const pieces = text.split(/(?<=^| )(?=[A-Za-z0-9.\-_[\]]+=)/)
  for (const piece of joinEscaped(pieces)) {
    const equals = piece.indexOf('=')
    pairs.push([piece.slice(0, equals), piece.slice(equals + 1)])
  }
  return pairs.map(([name, value]) => [name, unescaped(value.replace(/ +$/, ''))])
}

/** The space before a key is none where a backslash takes it. */
function joinEscaped(pieces: readonly string[]): string[] {
  const joined: string[] = []
  for (const piece of pieces) {
    const last = joined.at(-1)
    const value = last?.slice(last.indexOf('=') + 1)
    const isOpen = value !== undefined && /^(?:[^\\]|\\.)*\\ $/s.test(value)
    if (isOpen) joined[joined.length - 1] = last + piece
    else joined.push(piece)
  }
  return joined
}

function unescaped(value: string): string {
  return value.replaceAll(/\\([=|\\nr])/g, (_, letter: string) => {
    return letter === 'n' ? '\n' : letter === 'r' ? '\r' : letter
  })
}

function leef(text: string): Pairs | undefined {
  if (!/^[12]/.test(text)) return undefined
  const read = header(text, LEEF_NAMES)
  if (read === undefined || read[1] === undefined) return undefined
  let rest = read[1]
  if (rest === '') return read[0]
  let delimiter: string | undefined
  if (text.startsWith('2')) {
    const field = /^(\||[^|]*)\|/s.exec(rest)
    delimiter =
      field !== null && Buffer.byteLength(field[1]!) < 9 ? delimiterOf(field[1]!) : undefined
    if (delimiter !== undefined) rest = rest.slice(field![0].length)
  }
  if (delimiter === undefined && !rest.includes('\t')) {
    const members = extension(rest)
    return members && bounded([...read[0], ...members])
  }
  const pieces = rest.split(delimiter ?? '\t')
  const members = pieces.flatMap((piece): Pairs => {
    const pair = /^ *([^=]*?) *=(.*)$/s.exec(piece)
    return pair === null || pair[1] === ''
      ? []
      : [[pair[1]!, pair[2]!.replaceAll(/\\([=|])/g, '$1')]]
  })
  const isEmpty = pieces.every((piece) => piece === '')
  return members.length === 0 && !isEmpty ? undefined : bounded([...read[0], ...members])
}

function delimiterOf(field: string): string | undefined {
  if (field === '' || field === '\\t') return '\t'
  const hex = /^0?x([0-9a-f]{1,6})$/i.exec(field)?.[1]
  if (hex !== undefined) {
    const point = Number.parseInt(hex, 16)
    return point > 0x10ffff || (point >= 0xd800 && point < 0xe000)
      ? undefined
      : String.fromCodePoint(point)
  }
  return [...field].length === 1 && !/[A-Za-z0-9=]/.test(field) ? field : undefined
}
