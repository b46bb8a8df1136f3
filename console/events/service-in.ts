/** The service that a payload names, by the rules of the label `_service`. */
import {
  caseVariants,
  isServiceField,
  lowerAscii,
  SERVICE_FIELDS,
} from '../../src/model/event-labels.ts'
import { type JsonSpan, jsonKind, jsonMembers, jsonString } from '../base/exact-json.ts'

/** In small letters: the fields themselves, and what they are in. */
const places = new Set(
  SERVICE_FIELDS.flatMap((path) => {
    const names = lowerAscii(path).split('.')
    return names.map((_, at) => names.slice(0, at + 1).join('.'))
  }),
)
const fields = SERVICE_FIELDS.map((path) => ({
  lower: lowerAscii(path),
  variants: caseVariants(path),
}))
/** A longer one is no name to the service (SERVICE_BYTES_MAX). */
const BYTES_MAX = 256
const utf8 = new TextEncoder()

/** Of the best field that has one, in any case of letters; '' for none. */
export function serviceIn(payload: JsonSpan): string {
  const found = new Map<string, JsonSpan>()
  if (jsonKind(payload) === 'object') collect(payload, '', found)
  let best = { rank: Number.POSITIVE_INFINITY, text: '' }
  for (const [path, value] of found) {
    const rank = rankOf(path)
    if (rank > best.rank || jsonKind(value) !== 'string') continue
    const text = jsonString(value)
    if (isName(text)) best = { rank, text }
  }
  return best.text
}

function isName(text: string): boolean {
  return text !== '' && text.length <= BYTES_MAX && utf8.encode(text).length <= BYTES_MAX
}

/** Fields by their paths as they are written; what counts of several values is as in `jsonAt`. */
function collect(object: JsonSpan, prefix: string, found: Map<string, JsonSpan>): void {
  const byPath = new Map<string, JsonSpan>()
  for (const { key, value } of jsonMembers(object)) {
    const path = `${prefix}${key}`
    if (!places.has(lowerAscii(path))) continue
    byPath.delete(path)
    byPath.set(path, value)
  }
  for (const [path, value] of byPath) {
    const kind = jsonKind(value)
    if (kind === 'object') collect(value, `${path}.`, found)
    else if (kind !== 'null' && isServiceField(path)) found.set(path, value)
  }
}

/** The better field first, and of its cases those that people write. */
function rankOf(path: string): number {
  const index = fields.findIndex(({ lower }) => lower === lowerAscii(path))
  const { variants } = fields[index]!
  const variant = variants.indexOf(path)
  return index + (variant < 0 ? variants.length : variant) / (variants.length + 1)
}
