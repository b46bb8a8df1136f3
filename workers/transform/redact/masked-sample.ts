/**
 * What may be shown of a value that redaction removes: enough to see whether it is a secret or a
 * false positive, never enough to use it. Lengths are given as classes, so that they do not narrow
 * a search; the first two characters, which often name the vendor, are shown of long values only;
 * nothing of the end is shown.
 */
import type { MaskedSample, SampleCharacters } from '../../../src/model/redact/redaction.ts'

const QUOTE = 0x22
const LENGTH_CLASSES = [8, 16, 32, 64, 128, 1_024] as const
/** Values with fewer bytes show nothing of themselves. */
const SHOWN_BYTES_MIN = 16
const SHOWN_CHARS = 2
/** Only this much of a value is examined for its characters. */
const LOOKED_AT_BYTES_MAX = 256
const MASK = '***'

/** The sample of the JSON value, or piece of a string, that is `start`..`end` of `bytes`. */
export function maskedSample(bytes: Uint8Array, start: number, end: number): MaskedSample {
  const isQuoted = bytes[start] === QUOTE && end - start >= 2
  const from = isQuoted ? start + 1 : start
  const to = isQuoted ? end - 1 : end
  const text = Buffer.from(bytes.subarray(from, Math.min(to, from + LOOKED_AT_BYTES_MAX)))
  const shown = text.toString('latin1')
  const type = isQuoted ? 'string' : typeOf(shown)
  const isShown = type === 'string' && to - from >= SHOWN_BYTES_MIN
  const [begin] = (isShown && /^[A-Za-z0-9]{2}/.exec(shown)) || ['']
  return {
    type,
    masked: `${begin.slice(0, SHOWN_CHARS)}${MASK}`,
    length: lengthClass(to - from),
    characters: charactersOf(shown),
  }
}

function typeOf(text: string): MaskedSample['type'] {
  if (text.startsWith('{')) return 'object'
  if (text.startsWith('[')) return 'array'
  if (text === 'true' || text === 'false') return 'boolean'
  return /^-?[0-9][0-9.eE+-]*$/.test(text) ? 'number' : 'string'
}

function lengthClass(bytes: number): string {
  let below = 0
  for (const most of LENGTH_CLASSES) {
    if (bytes <= most) return `${below}-${most}`
    below = most + 1
  }
  return `over ${below - 1}`
}

function charactersOf(text: string): SampleCharacters {
  if (/^[0-9]+$/.test(text)) return 'digits'
  if (/^(?:[0-9a-f]+|[0-9A-F]+)$/.test(text)) return 'hexadecimal'
  if (/^[A-Za-z]+$/.test(text)) return 'letters'
  if (/^[A-Za-z0-9]+$/.test(text)) return 'letters_and_digits'
  return text.includes(' ') ? 'words' : 'other'
}
