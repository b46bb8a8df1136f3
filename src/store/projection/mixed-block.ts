/**
 * Native blocks of the shared projection table. Workers' blocks lack its first column, `stream_id`:
 * it is put in front of theirs.
 */
import assert from 'node:assert/strict'
import {
  MIXED_PROJECTION_COLUMNS,
  type MixedBlock,
  PROJECTION_COLUMNS,
} from '../../model/projection.ts'
import { pushVaruint, readVaruint } from '../../model/varuint.ts'

const VALUE_BYTES = 4
const [STREAM_COLUMN] = MIXED_PROJECTION_COLUMNS

/** A block of the shared table in two pieces; nothing of `bytes` is copied. */
export function prependStreams({ bytes, rows }: MixedBlock): readonly [Buffer, Uint8Array] {
  const at = { index: 0 }
  assert.equal(readVaruint(bytes, at), PROJECTION_COLUMNS.length)
  const rowCount = readVaruint(bytes, at)
  const start: number[] = []
  pushVaruint(start, MIXED_PROJECTION_COLUMNS.length)
  pushVaruint(start, rowCount)
  for (const text of STREAM_COLUMN) {
    pushVaruint(start, text.length)
    start.push(...Buffer.from(text))
  }
  const head = Buffer.allocUnsafe(start.length + rowCount * VALUE_BYTES)
  head.set(start)
  const value = Buffer.allocUnsafe(VALUE_BYTES)
  let end = start.length
  for (const { streamId, count } of rows) {
    value.writeUInt32LE(streamId)
    head.fill(value, end, end + count * VALUE_BYTES)
    end += count * VALUE_BYTES
  }
  assert.equal(end, head.length)
  return [head, bytes.subarray(at.index)]
}
