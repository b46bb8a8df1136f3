/**
 * The columns `level` and `service` of a block: `LowCardinality(String)` in Native form.
 *
 *   names:  UInt64 = 1
 *   values: UInt64 flags, UInt64 number of keys, keys, UInt64 rows, a key's index a row
 *
 * The engine also reads several such value lists one after another, each with keys of its own, so
 * joined blocks (`materialize/join-blocks.ts`) need no common keys.
 */
import { LEVELS } from '../../src/model/event-labels.ts'
import type { EventLabels } from '../facts/event-labels.ts'
import { NO_SERVICE } from '../facts/service-names.ts'
import type { ByteWriter } from '../kernel/byte-writer.ts'

/** Keys come with the values, and are all there are. */
const OWN_KEYS = 0x600
/** Of the index's type: 8, 16 and 32 bits. */
const UINT8 = 0
const UINT16 = 1
const UINT32 = 2
const EMPTY = new Uint8Array(0)
const LEVEL_KEYS: readonly Uint8Array[] = [EMPTY, ...LEVELS.map((level) => Buffer.from(level))]

interface Rows {
  readonly first: number
  readonly count: number
}

/** What precedes the values of such a column, after its name and type. */
export function writeLabelPrefix(writer: ByteWriter): void {
  writer.reserve(8)
  writer.uint64(1)
}

export function writeLevels(writer: ByteWriter, labels: EventLabels, { first, count }: Rows): void {
  writeKeys(writer, LEVEL_KEYS, UINT8)
  writer.reserve(8 + count)
  writer.uint64(count)
  // A level's number is its key's index.
  writer.bytes.set(labels.level.subarray(first, first + count), writer.length)
  writer.length += count
}

export class ServiceColumn {
  /** By service, its key in this block; valid where `#block` is of this block. */
  #keyOf = new Int32Array(0)
  #blockOf = new Int32Array(0)
  #block = 0

  write(writer: ByteWriter, labels: EventLabels, { first, count }: Rows): void {
    const { service, names } = labels
    if (this.#keyOf.length < names.count) {
      this.#keyOf = new Int32Array(names.count * 2)
      this.#blockOf = new Int32Array(names.count * 2)
      this.#block = 0
    }
    const block = ++this.#block
    const keys: Uint8Array[] = [EMPTY]
    this.#keyOf[NO_SERVICE] = 0
    this.#blockOf[NO_SERVICE] = block
    for (let i = first; i < first + count; i++) {
      const of = service[i]!
      if (this.#blockOf[of] === block) continue
      this.#blockOf[of] = block
      this.#keyOf[of] = keys.length
      keys.push(names.nameOf(of))
    }
    const width = keys.length <= 0x100 ? UINT8 : keys.length <= 0x1_0000 ? UINT16 : UINT32
    writeKeys(writer, keys, width)
    writer.reserve(8 + (count << width))
    writer.uint64(count)
    for (let i = first; i < first + count; i++) {
      const key = this.#keyOf[service[i]!]!
      if (width === UINT8) writer.view.setUint8(writer.length, key)
      else if (width === UINT16) writer.view.setUint16(writer.length, key, true)
      else writer.view.setUint32(writer.length, key, true)
      writer.length += 1 << width
    }
  }
}

function writeKeys(writer: ByteWriter, keys: readonly Uint8Array[], width: number): void {
  writer.reserve(16)
  writer.uint64(OWN_KEYS | width)
  writer.uint64(keys.length)
  for (const key of keys) writer.string(key)
}
