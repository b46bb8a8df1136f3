/**
 * Goal: keystrokes do not read the catalog anew, large catalogs are read some at a time, and what
 * is too much is left out as a whole, which is told.
 * Method: rows in place of PostgreSQL's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIELDS_FOUND_AMONG_MAX } from '../../../src/limits.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { FIELD_INDEX_CACHE_MS, FieldIndex } from '../../../src/store/catalog/field-index.ts'
import type { Postgres } from '../../../src/store/postgres.ts'

/** Streams by their ids, with so many fields as the catalog says. */
function indexOver(counts: Readonly<Record<number, number>>) {
  const read: number[][] = []
  const query = async (sql: string, [ids]: [readonly number[]]) => {
    const known = ids.filter((id) => counts[id] !== undefined)
    if (sql.includes('FROM stream_schemas')) {
      const rows = known.map((id) => {
        return { stream_id: id, field_count: counts[id], is_partial: id === 1 }
      })
      return { rows }
    }
    if (!sql.includes('FROM stream_fields')) return { rows: [] }
    read.push([...known])
    const rows = known.flatMap((id) => [
      { stream_id: id, path: 'Items', types: 1 << 5, is_resolved: false },
      { stream_id: id, path: 'Items[].n', types: 1 << 2, is_resolved: true },
    ])
    return { rows }
  }
  let nowMs = 0
  const index = new FieldIndex({ query } as unknown as Postgres, () => nowMs)
  const load = (...ids: number[]) => index.load(ids as StreamId[])
  return { load, read, later: (ms: number) => (nowMs += ms) }
}

test('fields are read once in FIELD_INDEX_CACHE_MS, those of other streams beside', async () => {
  const { load, read, later } = indexOver({ 1: 2, 2: 2 })
  const [stream] = (await load(1)).streams
  assert.deepEqual(
    stream?.fields.map(({ folded, types, parts }) => [folded, types, parts]),
    [
      ['items', ['array'], ['Items']],
      ['items[].n', ['integer'], ['Items', 'n']],
    ],
  )
  later(FIELD_INDEX_CACHE_MS - 1)
  const both = await load(2, 1, 3)
  assert.deepEqual(
    both.streams.map(({ streamId, isPartial }) => [streamId, isPartial]),
    [
      [2, false],
      [1, true],
    ],
  )
  assert.deepEqual(read, [[1], [2]])
  later(1)
  await load(1)
  assert.deepEqual(read, [[1], [2], [1]])
})

test('past FIELDS_FOUND_AMONG_MAX whole streams are left out, smaller ones are not', async () => {
  const { load, read } = indexOver({ 1: 4_000, 2: FIELDS_FOUND_AMONG_MAX, 3: 4_000, 4: 1_000 })
  const { streams, isCut } = await load(1, 2, 3, 4)
  assert.deepEqual([streams.map(({ streamId }) => streamId), isCut], [[1, 3, 4], true])
  assert.deepEqual(read, [[1], [3, 4]], 'some at a time')
})
