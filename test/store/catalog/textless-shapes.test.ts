/**
 * Goal: each shape is read once, some at a time, whatever is asked again, and memory is bounded.
 * Method: descriptions in place of PostgreSQL's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_TEXTLESS } from '../../../src/model/field-catalog.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { TextNames } from '../../../src/model/text-fields.ts'
import {
  TEXTLESS_SHAPES_KEPT_MAX,
  TextlessShapes,
} from '../../../src/store/catalog/textless-shapes.ts'
import type { Postgres } from '../../../src/store/postgres.ts'

const NAMES = new TextNames(['message'])

/** Every shape has the paths that `pathsOf` says, as JSON. */
function shapesOver(pathsOf: (shape: string) => string) {
  const reads: number[] = []
  const query = async (_sql: string, [streams, shapes]: [readonly number[], readonly string[]]) => {
    reads.push(shapes.length)
    const rows = shapes.map((shape, at) => {
      return { stream_id: streams[at], shape, paths: pathsOf(shape) }
    })
    return { rows }
  }
  return { textless: new TextlessShapes({ query } as unknown as Postgres), reads }
}

const shapeOf = (n: number) => n.toString(16).padStart(16, '0')
const shapesFrom = (first: number, count: number) => {
  return Array.from({ length: count }, (_, n) => shapeOf(first + n))
}
const ask = (streamId: number, shapes: readonly string[], names = NAMES) => {
  return [{ streamId: streamId as StreamId, names, shapes }]
}

test('a shape is read once; other names or fewer shapes are looked at anew', async () => {
  const { textless, reads } = shapesOver((shape) => {
    return shape.endsWith('1') ? '[["message","string"]]' : '[["host","string"],["n","integer"]]'
  })
  const [first] = await textless.of(ask(1, shapesFrom(1, 40)))
  assert.deepEqual(reads, [32, 8])
  assert.deepEqual(first?.paths, [['host']])
  assert.equal(first.shapes?.length, 37, 'those of 0x1, 0x11 and 0x21 have text')
  await textless.of(ask(1, shapesFrom(1, 41)))
  assert.deepEqual(reads, [32, 8, 1])
  assert.deepEqual(await textless.of(ask(1, shapesFrom(1, 41), new TextNames(['HOST']))), [
    { ...NO_TEXTLESS, shapes: [0x1n, 0x11n, 0x21n], paths: [['message']] },
  ])
  assert.deepEqual(await textless.of(ask(1, [])), [NO_TEXTLESS])
})

test('who asks while others still look gets what is known of his shapes', async () => {
  const release: (() => void)[] = []
  const query = async (_sql: string, [streams, shapes]: [readonly number[], readonly string[]]) => {
    if (release.length > 0) await new Promise<void>((resolve) => release.push(resolve))
    else release.push(() => undefined)
    const rows = shapes.map((shape, at) => {
      return { stream_id: streams[at], shape, paths: '[["host","string"]]' }
    })
    return { rows }
  }
  const textless = new TextlessShapes({ query } as unknown as Postgres)
  // The shapes of the first stream are read at once, those of the second one wait.
  const both = textless.of([...ask(1, shapesFrom(1, 32)), ...ask(2, shapesFrom(1, 1))])
  while (release.length < 2) await new Promise((resolve) => setImmediate(resolve))
  const [first] = await textless.of(ask(1, shapesFrom(1, 32)))
  assert.deepEqual([first?.shapes?.length, first?.paths], [32, [['host']]])
  release[1]!()
  assert.deepEqual(
    (await both).map(({ shapes }) => shapes?.length),
    [32, 1],
  )
})

test('past TEXTLESS_SHAPES_KEPT_MAX the streams asked for first are forgotten', async () => {
  const { textless, reads } = shapesOver(() => '[]')
  const half = shapesFrom(0, TEXTLESS_SHAPES_KEPT_MAX / 2)
  await textless.of(ask(1, half))
  await textless.of(ask(2, half))
  const before = reads.length
  await textless.of(ask(1, half))
  assert.equal(reads.length, before, 'both are kept')
  await textless.of(ask(3, shapesFrom(0, 1)))
  await textless.of(ask(1, half))
  assert.equal(reads.length, before + 1, 'the one that was asked for last is kept')
  await textless.of(ask(2, half))
  assert.ok(reads.length > before + 1, 'the other one is not')
})
