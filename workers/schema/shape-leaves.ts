/**
 * Describes a shape: its leaves as path, type and samples, from a few of its events, as they are
 * stored: transformed and redacted. It runs rarely, so it may make strings.
 */
import {
  BLOCK_PATHS_MAX,
  FIELD_PATH_BYTES_MAX,
  FIELD_SAMPLES_MAX,
  SHAPE_LEAVES_CHARS_MAX,
} from '../../src/limits.ts'
import { encodeLeaf } from '../../src/model/schema.ts'
import type { TapeSource } from '../block/native-json.ts'
import { CATALOG_TYPE_NAMES, catalogType } from '../facts/event-facts.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { unescapeToString } from '../tape/json-string.ts'
import { ENTRY, ESCAPED, FALSE, FLOAT, INT, STRING, TRUE, UINT } from '../tape/tape-types.ts'

/** A sample's value, in bytes of UTF-8; longer strings are cut. */
export const SAMPLE_BYTES_MAX = 256

export class ShapeLeaves {
  /** Characters of the last description. */
  chars = 0
  /** Samples by leaf, path and type with U+0000 in between. */
  #samples = new Map<string, Set<string>>()

  /** The leaves of the events `first + ordinals[i]`, which have one shape, and their objects. */
  describe(
    source: TapeSource,
    events: DecodedEvents,
    first: number,
    ordinals: readonly number[],
  ): string[] {
    this.chars = 0
    this.#samples = new Map()
    for (const ordinal of ordinals) {
      const event = first + ordinal
      this.#addEvent(source, events.tapeStart[event]!, events.tapeEnd[event]!)
    }
    const leaves: string[] = []
    for (const [key, samples] of this.#samples) {
      const at = key.indexOf('\0')
      leaves.push(encodeLeaf(key.slice(0, at), key.slice(at + 1), [...samples]))
    }
    this.#samples = new Map()
    return leaves
  }

  #addEvent(source: TapeSource, tapeStart: number, tapeEnd: number): void {
    const { entries, trie } = source
    for (let at = tapeStart; at < tapeEnd; at += ENTRY) {
      const tapeType = entries[at + 1]!
      const type = CATALOG_TYPE_NAMES[catalogType(tapeType)]
      const node = entries[at]!
      // Paths without a column are too long to be shown; no string is made of them.
      if (type === undefined || trie.isTooLong(node)) continue
      // PostgreSQL's text cannot hold U+0000.
      const path = trie.displayPath(node).replaceAll('\0', '\ufffd')
      if (Buffer.byteLength(path) > FIELD_PATH_BYTES_MAX) continue // U+FFFD has three bytes.
      const samples = this.#leaf(path, type)
      if (samples === undefined) return
      this.#addObjects(path)
      if (samples.size === FIELD_SAMPLES_MAX) continue
      const sample = sampleText(source.bytes, tapeType, entries[at + 2]!, entries[at + 3]!)
      if (sample === undefined || samples.has(sample)) continue
      samples.add(sample)
      this.chars += sample.length + 1
    }
  }

  /** The samples of a leaf, which is made when it is new; undefined past the bounds. */
  #leaf(path: string, type: string): Set<string> | undefined {
    const key = `${path}\0${type}`
    const known = this.#samples.get(key)
    if (known !== undefined) return known
    if (this.#samples.size === BLOCK_PATHS_MAX || this.chars > SHAPE_LEAVES_CHARS_MAX) {
      return undefined
    }
    const samples = new Set<string>()
    this.#samples.set(key, samples)
    this.chars += key.length + 1
    return samples
  }

  /** The objects around a path: `log.level` says that `log` is one. A dotted key says the same. */
  #addObjects(path: string): void {
    for (let end = path.lastIndexOf('.'); end > 0; end = path.lastIndexOf('.', end - 1)) {
      const object = path.slice(0, end)
      if (this.#samples.has(`${object}\0object`)) return
      if (this.#leaf(object, 'object') === undefined) return
    }
  }
}

/** The value as JSON of at most SAMPLE_BYTES_MAX bytes decoded, for types that have values. */
function sampleText(
  bytes: Uint8Array,
  tapeType: number,
  start: number,
  end: number,
): string | undefined {
  switch (tapeType) {
    case FALSE:
      return 'false'
    case TRUE:
      return 'true'
    case INT:
    case UINT:
    case FLOAT: {
      // A number cut short would be another number.
      if (end - start > SAMPLE_BYTES_MAX) return undefined
      return Buffer.from(bytes.subarray(start, end)).toString('latin1')
    }
    case STRING:
      return JSON.stringify(cutText(bytes, start, end))
    case ESCAPED: {
      // An escape is at most six times as long as what it stands for; the last may be cut.
      const read = Math.min(end, start + 6 * SAMPLE_BYTES_MAX + 16)
      const decoded = Buffer.from(unescapeToString(bytes, start, wholeEscapes(bytes, start, read)))
      return JSON.stringify(cutText(decoded, 0, decoded.length))
    }
    default:
      return undefined
  }
}

const BACKSLASH = 0x5c
const LOWER_U = 0x75

/** Where the last whole escape or byte before `end` ends: backslashes pair up from `start`. */
function wholeEscapes(bytes: Uint8Array, start: number, end: number): number {
  let i = start
  while (i < end) {
    const size = bytes[i] !== BACKSLASH ? 1 : bytes[i + 1] === LOWER_U ? 6 : 2
    if (i + size > end) break
    i += size
  }
  return i
}

/** At most SAMPLE_BYTES_MAX bytes from `start`, whole characters. */
function cutText(bytes: Uint8Array, start: number, end: number): string {
  let stop = Math.min(end, start + SAMPLE_BYTES_MAX)
  if (stop < end) while (stop > start && (bytes[stop]! & 0xc0) === 0x80) stop--
  return Buffer.from(bytes.subarray(start, stop)).toString()
}
