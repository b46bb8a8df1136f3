/**
 * Goal: the events that have a field are those of the shapes that have it, each description is read
 * once, and no stream takes more than its share of reading.
 * Method: rows in place of PostgreSQL's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamId } from '../../../src/model/stream.ts'
import {
  SHAPE_COUNTS_BYTES_MAX,
  SHAPE_COUNTS_PATHS_MAX,
  ShapeCounts,
} from '../../../src/store/catalog/shape-counts.ts'
import type { Postgres } from '../../../src/store/postgres.ts'

interface Shape {
  readonly shape: string
  count: number
  readonly paths: string
  readonly bytes?: number
}

function countsOver(shapes: readonly Shape[]) {
  const reads: string[][] = []
  const query = async (_sql: string, params: readonly (readonly (number | string)[])[]) => {
    const wanted = params[1] as readonly string[] | undefined
    if (wanted === undefined) {
      const rows = shapes.map(({ shape, count, paths, bytes = paths.length }) => {
        return { stream_id: 1, shape, event_count: String(count), bytes }
      })
      return { rows }
    }
    reads.push([...wanted])
    const rows = shapes.filter(({ shape }) => wanted.includes(shape))
    return { rows: rows.map(({ shape, paths }) => ({ stream_id: 1, shape, paths })) }
  }
  const counts = new ShapeCounts({ query } as unknown as Postgres)
  return { of: async () => (await counts.of([1 as StreamId]))[0]!, reads }
}

test('a path counts once an event, each of its types for itself', async () => {
  const shapes = [
    { shape: 'a', count: 70, paths: '[["x","integer"],["y","string"]]' },
    { shape: 'b', count: 20, paths: '[["x","string"],["x","integer"],["\\ud800","null"]]' },
    { shape: 'c', count: 10, paths: '[]' },
  ]
  const { of, reads } = countsOver(shapes)
  const counts = await of()
  assert.equal(counts.events, 100)
  assert.deepEqual(counts.of('x'), { events: 90, byType: [0, 0, 90, 0, 20, 0, 0] })
  assert.deepEqual(counts.of('y'), { events: 70, byType: [0, 0, 0, 0, 70, 0, 0] })
  assert.equal(counts.of('\ufffd')?.events, 20)
  assert.equal(counts.of('z'), undefined)
  shapes[0]!.count = 170
  assert.equal((await of()).of('x')?.events, 190)
  assert.deepEqual(reads, [['a', 'b', 'c']], 'described once')
  assert.equal(counts.of('x')?.events, 90, 'an answer stays what it was')
})

test('past SHAPE_COUNTS_BYTES_MAX rarer shapes are left out, of the total too', async () => {
  const paths = '[["x","string"]]'
  const { of } = countsOver([
    { shape: 'a', count: 9, paths, bytes: SHAPE_COUNTS_BYTES_MAX },
    { shape: 'b', count: 1, paths, bytes: 1 },
  ])
  assert.equal((await of()).events, 9)
})

test('past SHAPE_COUNTS_PATHS_MAX rarer paths are left out, known ones still count', async () => {
  const many = Array.from({ length: SHAPE_COUNTS_PATHS_MAX + 5 }, (_, n) => [`k${n}`, 'null'])
  const { of } = countsOver([
    { shape: 'a', count: 9, paths: JSON.stringify(many), bytes: 1 },
    { shape: 'b', count: 1, paths: '[["k0","null"],["new","null"]]', bytes: 1 },
  ])
  const counts = await of()
  assert.deepEqual([counts.paths, counts.events], [SHAPE_COUNTS_PATHS_MAX, 10])
  assert.equal(counts.of('k0')?.events, 10)
  assert.equal(counts.of('new'), undefined)
})
