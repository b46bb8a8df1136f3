/** What people read of a pattern: the words of a text and, where it varies, slots. */
import { PATTERN_BYTES_MAX, TextPattern } from './text-pattern.ts'

export const SLOT_KINDS = [
  'number',
  'duration',
  'size',
  'time',
  'uuid',
  'address',
  'hex',
  'email',
  'quoted',
  'list',
  'value',
] as const
export type SlotKind = (typeof SLOT_KINDS)[number]

export type TemplatePart =
  | { readonly text: string }
  | { readonly slot: SlotKind; readonly example: string }

export interface PatternTemplate {
  /** 16 hex digits. */
  readonly id: string
  readonly parts: readonly TemplatePart[]
  /** The text goes on behind what was looked at. */
  readonly isCut: boolean
}

/** Longer ones are not looked at closely. */
const SLOT_CHARS_MAX = 128
const KINDS: readonly (readonly [kind: SlotKind, is: RegExp])[] = [
  ['quoted', /^["'].*["']$/s],
  ['uuid', /^[{(]?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}[)}]?$/i],
  ['time', /^\d{1,2}:\d\d:\d\d(?:[.,:]\d+)?(?:Z|[-+]\d\d:?\d\d)?$/],
  ['address', /^\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d{1,5})?$/],
  ['address', /^(?=.*:.*:)(?=.*[0-9a-f])[0-9a-f:]{3,}(?:[%/]\w+)?$/i],
  ['duration', /^[-+]?\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d|sec|secs|min|mins)$/i],
  ['duration', /^(?:\d+h)?\d+m\d+(?:\.\d+)?s$/],
  ['size', /^[-+]?\d+(?:\.\d+)?(?:[kmgt]i?)?(?:b|bytes)$/i],
  ['time', /^\d{4}[-/.]\d\d[-/.]\d\d(?:[T:]?.*)$/],
  ['time', /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? *)?\d{0,2}[ /-]?[A-Z][a-z]{2}[ /-]*\d.*$/],
  ['number', /^[-+$#]?\d+(?:[.]\d+)*(?:e[-+]?\d+)?%?$/i],
  ['email', /^[^@\s]+@[^@\s]+$/],
  ['hex', /^(?:0x)?[0-9a-f]{6,}$/i],
  ['hex', /^0x[0-9a-f]+$/i],
  ['list', /[,]/],
]

/** What a masked text seems to be. */
export function slotKind(text: string): SlotKind {
  if (text.length > SLOT_CHARS_MAX) return /^["']/.test(text) ? 'quoted' : 'value'
  return KINDS.find(([, is]) => is.test(text))?.[0] ?? 'value'
}

const pattern = new TextPattern()
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The pattern of a text, or undefined for a blank one. Reads a bounded beginning. */
export function tryReadTemplate(text: string): PatternTemplate | undefined {
  // A character takes at least a byte.
  const bytes = encoder.encode(text.slice(0, PATTERN_BYTES_MAX + 1))
  if (!pattern.read(bytes, 0, bytes.length)) return undefined
  const { slots, slotCount, readEnd } = pattern
  const parts: TemplatePart[] = []
  let at = 0
  const words = (end: number) => {
    const literal = plainText(decoder.decode(bytes.subarray(at, end)))
    if (literal !== '') parts.push({ text: literal })
  }
  for (let slot = 0; slot < slotCount; slot++) {
    const [start, end] = [slots[2 * slot]!, slots[2 * slot + 1]!]
    words(start)
    const example = decoder.decode(bytes.subarray(start, end))
    parts.push({ slot: slotKind(example), example })
    at = end
  }
  words(readEnd)
  const id = patternText(pattern.low, pattern.high)
  return { id, parts: trimmed(parts), isCut: readEnd < bytes.length }
}

/** `user <number> logged in` */
export function templateText(parts: readonly TemplatePart[]): string {
  return parts.map((part) => ('slot' in part ? `<${part.slot}>` : part.text)).join('')
}

/** As the API shows a pattern: 16 hex digits. */
export function patternText(low: number, high: number): string {
  const digits = (half: number) => (half >>> 0).toString(16).padStart(8, '0')
  return `${digits(high)}${digits(low)}`
}

/** What is hashed of it: without colours, blanks as one. */
function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals have it.
  const colourless = text.replaceAll(/\x1b\[[^@-~]{0,14}[@-~]/g, '').replaceAll('\x1b', '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are blanks of patterns.
  return colourless.replaceAll(/[\x00-\x20\x7f]+/g, ' ')
}

function trimmed(parts: readonly TemplatePart[]): readonly TemplatePart[] {
  const last = parts.length - 1
  return parts.flatMap((part, index): readonly TemplatePart[] => {
    if ('slot' in part) return [part]
    const left = index === 0 ? part.text.trimStart() : part.text
    const text = index === last ? left.trimEnd() : left
    return text === '' ? [] : [{ text }]
  })
}
