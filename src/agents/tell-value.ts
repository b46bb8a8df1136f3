/** One value of an event, in pieces as long as a result may be: nothing is out of reach. */
import { readMemberTexts } from '../api/json-text.ts'
import { IngestError } from '../errors.ts'
import { MCP_RESULT_CHARS_MAX } from '../limits.ts'

/** As JSON it may be twice as long, and a frame is around it. */
const PIECE_CHARS_MAX = MCP_RESULT_CHARS_MAX / 2 - 1_000
const HIGH_SURROGATE_END = /[\ud800-\udbff]$/

/** Characters of a string itself, of any other value of its JSON. Throws `not_found`. */
export function tellValue(record: string, field: string, offset: number): string {
  const payload = readMemberTexts(record).get('payload') ?? '{}'
  const json = valueAt(payload, field)
  if (json === undefined) {
    throw new IngestError('not_found', 'the event has no such field; without "field" it is shown')
  }
  const text = json.startsWith('"') ? (JSON.parse(json) as string) : json
  const piece = pieceOf(text, offset)
  const end = offset + piece.length
  const isString = json.startsWith('"')
  const next = end < text.length ? end : null
  return JSON.stringify({
    field,
    is_string: isString,
    chars: text.length,
    piece,
    next_offset: next,
  })
}

/** Escapes may make a character six times as long: then the piece is shorter. */
function pieceOf(text: string, offset: number): string {
  for (let chars = PIECE_CHARS_MAX; ; chars = Math.floor(chars / 2)) {
    const raw = text.slice(offset, offset + chars)
    const piece = offset + chars < text.length ? raw.replace(HIGH_SURROGATE_END, '') : raw
    if (JSON.stringify(piece).length <= 2 * PIECE_CHARS_MAX) return piece
  }
}

/** The value at a dotted path: names may have dots of their own, and the longest name counts. */
function valueAt(json: string, path: string): string | undefined {
  if (!json.startsWith('{')) return undefined
  const members = readMemberTexts(json)
  if (members.has(path)) return members.get(path)
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const inner = members.get(path.slice(0, dot))
    const found = inner === undefined ? undefined : valueAt(inner, path.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}
