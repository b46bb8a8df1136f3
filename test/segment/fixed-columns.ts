/** Reads the columns of a block in ClickHouse's Native form that stand before its payload. */
import assert from 'node:assert/strict'

/** By row. */
export interface FixedColumns {
  readonly rows: number
  /** Of the shared table only. */
  readonly stream_id?: readonly string[]
  readonly segment_id: readonly string[]
  readonly ordinal: readonly string[]
  /** Milliseconds since 1970. */
  readonly ingested_at: readonly string[]
  /** Nanoseconds since 1970. */
  readonly event_time: readonly string[]
  readonly shape: readonly string[]
  readonly level: readonly string[]
  readonly service: readonly string[]
  /** In hexadecimal digits. */
  readonly context: readonly string[]
}

const PAYLOAD = 'payload'
const INDEX_BYTES = [1, 2, 4]

class Cursor {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  varuint(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.bytes.readUInt8(this.at++)
      value += (byte % 128) * factor
      if (byte < 128) return value
    }
  }

  text(): string {
    const length = this.varuint()
    this.at += length
    return this.bytes.toString('utf8', this.at - length, this.at)
  }

  hex(): string {
    const length = this.varuint()
    this.at += length
    return this.bytes.toString('hex', this.at - length, this.at)
  }

  /** An unsigned number of so many bytes, the lowest first. */
  number(size: number): bigint {
    this.at += size
    let value = 0n
    for (let i = 1; i <= size; i++) value = (value << 8n) | BigInt(this.bytes[this.at - i]!)
    return value
  }

  int64(): bigint {
    return BigInt.asIntN(64, this.number(8))
  }
}

/** The columns, and the bytes of the payload's column with its name and type. */
export function readFixedColumns(block: Buffer): { columns: FixedColumns; payloadColumn: Buffer } {
  const cursor = new Cursor(block)
  const count = cursor.varuint()
  const rows = cursor.varuint()
  const columns: Record<string, readonly string[]> = {}
  for (let column = 0; column < count; column++) {
    const start = cursor.at
    const name = cursor.text()
    if (name === PAYLOAD) {
      assert.equal(column, count - 1, 'the payload is the last column')
      const fixed = { rows, ...columns } as unknown as FixedColumns
      return { columns: fixed, payloadColumn: Buffer.from(block.subarray(start)) }
    }
    columns[name] = readColumn(cursor, cursor.text(), rows)
  }
  return assert.fail('the block has no payload')
}

function readColumn(cursor: Cursor, type: string, rows: number): string[] {
  if (type === 'LowCardinality(String)') return readLabels(cursor, rows)
  if (type === 'String') return Array.from({ length: rows }, () => cursor.hex())
  const isSigned = type.startsWith('DateTime64')
  const size = type === 'UInt32' ? 4 : 8
  assert(isSigned || type === 'UInt32' || type === 'UInt64', type)
  return Array.from({ length: rows }, () => {
    return String(isSigned ? cursor.int64() : cursor.number(size))
  })
}

function readLabels(cursor: Cursor, rows: number): string[] {
  assert.equal(cursor.number(8), 1n, 'version of LowCardinality')
  const size = INDEX_BYTES[Number(cursor.number(8) & 0xffn)]!
  const keys = Array.from({ length: Number(cursor.number(8)) }, () => cursor.text())
  assert.equal(cursor.number(8), BigInt(rows))
  return Array.from({ length: rows }, () => keys[Number(cursor.number(size))]!)
}
