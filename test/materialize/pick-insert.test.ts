/**
 * Goal: few streams have inserts of their own when they are due; small ones of many share one and
 * are due no later; full ones go first, and when memory presses the largest.
 * Method: tables of the policy, then a simulated clock: streams that all have something all the
 * time, inserts that take so long, and how old what each insert found was.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_DELAY_MS_MAX,
  MATERIALIZE_INSERT_BYTES,
  MATERIALIZE_INSERT_ROWS,
  MATERIALIZE_SHARE_BYTES,
  MATERIALIZE_SHARE_ROWS,
  MATERIALIZE_SHARE_STREAMS,
  MATERIALIZE_SHARED_ROWS,
} from '../../src/limits.ts'
import { pickInsert, type Waiting } from '../../src/materialize/pick-insert.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { StreamId } from '../../src/model/stream.ts'

const DELAY_MS = MATERIALIZE_DELAY_MS_MAX
const MANY = MATERIALIZE_SHARE_STREAMS + 1

let streams = 0
const some = (sinceMs: number, rows = 1, bytes = 100): Waiting => {
  return { streamId: ++streams as StreamId, sinceMs, rows, bytes }
}
const someSmall = (count: number, sinceMs = 0) => Array.from({ length: count }, () => some(sinceMs))

/** Which of `waiting` are picked, and whether for the shared table. */
function pick(waiting: readonly Waiting[], { nowMs = DELAY_MS, bytes = 0 } = {}) {
  const insert = pickInsert(waiting, { nowMs, delayMs: DELAY_MS, bytes })
  if (insert === undefined) return undefined
  assert.equal(
    insert.rows,
    insert.buffers.reduce((sum, { rows }) => sum + rows, 0),
  )
  assert.equal(
    insert.bytes,
    insert.buffers.reduce((sum, each) => sum + each.bytes, 0),
  )
  return { picked: insert.buffers.map((each) => waiting.indexOf(each)), isShared: insert.isShared }
}

test('one stream is due after the set delay, not before', () => {
  const waiting = [some(1_000)]
  assert.equal(pick(waiting, { nowMs: 1_000 + DELAY_MS - 1 }), undefined)
  assert.deepEqual(pick(waiting, { nowMs: 1_000 + DELAY_MS }), { picked: [0], isShared: false })
  assert.equal(pick([]), undefined)
})

test('a full stream goes first, whatever its age; then the oldest', () => {
  for (const full of [
    some(DELAY_MS, MATERIALIZE_INSERT_ROWS, 1),
    some(DELAY_MS, 1, MATERIALIZE_INSERT_BYTES),
  ]) {
    assert.deepEqual(pick([some(0), full])?.picked, [1])
    assert.deepEqual(pick([...someSmall(MANY), full])?.picked, [MANY])
  }
  assert.deepEqual(pick([some(0), some(1, 1, 1_000)])?.picked, [0])
})

test('past half of MATERIALIZE_BUFFER_BYTES_MAX the largest goes before its time', () => {
  const waiting = [some(0), some(1, 1, 900), some(2)]
  const half = MATERIALIZE_BUFFER_BYTES_MAX / 2
  assert.equal(pick(waiting, { nowMs: 10, bytes: half }), undefined)
  assert.deepEqual(pick(waiting, { nowMs: 10, bytes: half + 1 })?.picked, [1])
  const large = some(3, 1, MATERIALIZE_SHARE_BYTES + 1)
  assert.deepEqual(pick([...someSmall(MANY), large], { nowMs: 10, bytes: half + 1 })?.picked, [
    MANY,
  ])
})

test('more than MATERIALIZE_SHARE_STREAMS small ones share an insert with the mixed blocks', () => {
  const mixed = { ...some(1, 2 * MATERIALIZE_SHARE_ROWS), streamId: MIXED_STREAM }
  const few = [...someSmall(MATERIALIZE_SHARE_STREAMS), mixed]
  assert.deepEqual(pick(few), { picked: [0], isShared: false })
  assert.deepEqual(pick([mixed], { nowMs: 1 + DELAY_MS }), { picked: [0], isShared: true })
  const many = [...few, some(1)]
  const all = { picked: many.map((_, i) => i), isShared: true }
  assert.deepEqual(pick(many), all)
  for (const large of [
    some(1, MATERIALIZE_SHARE_ROWS + 1),
    some(1, 1, MATERIALIZE_SHARE_BYTES + 1),
  ]) {
    assert.deepEqual(pick([...few, large])?.picked, [0], 'it is not one of the small ones')
    assert.deepEqual(pick([...many, large]), all)
    assert.deepEqual(pick([{ ...large, sinceMs: 0 }, ...someSmall(MANY, 1)])?.picked, [0])
  }
})

test('a shared insert is bounded; one that is full does not wait, and the rest follows', () => {
  for (const [rows, bytes, count] of [
    [MATERIALIZE_SHARE_ROWS, 1, MATERIALIZE_SHARED_ROWS / MATERIALIZE_SHARE_ROWS],
    [1, MATERIALIZE_SHARE_BYTES, MATERIALIZE_INSERT_BYTES / MATERIALIZE_SHARE_BYTES],
  ] as const) {
    const waiting = Array.from({ length: count + 1 }, () => some(0, rows, bytes))
    const fitting = waiting.slice(1)
    const all = fitting.map((_, i) => i)
    assert.deepEqual(pick(waiting, { nowMs: 0 })?.picked, all)
    assert.equal(pick(fitting, { nowMs: 0 }), undefined)
    assert.deepEqual(pick(fitting)?.picked, all)
  }
  const mixed = { ...some(0, MATERIALIZE_SHARED_ROWS), streamId: MIXED_STREAM }
  assert.deepEqual(pick([...someSmall(2), mixed], { nowMs: 0 }), { picked: [2], isShared: true })
})

/** `streams` streams get something every `everyMs`; returns the ages found and how many inserts. */
function simulate(options: { streams: number; everyMs: number; insertMs: number; ms: number }) {
  const waiting = new Map<
    StreamId,
    { streamId: StreamId; sinceMs: number; rows: number; bytes: 1 }
  >()
  const ages: number[] = []
  let inserts = 0
  let cameMs = 0
  for (let nowMs = 0; nowMs < options.ms; ) {
    // What came while the last insert ran.
    for (; cameMs <= nowMs; cameMs += options.everyMs / options.streams) {
      const turn = Math.round((cameMs * options.streams) / options.everyMs)
      const streamId = (1 + (turn % options.streams)) as StreamId
      const known = waiting.get(streamId)
      if (known === undefined)
        waiting.set(streamId, { streamId, sinceMs: cameMs, rows: 1, bytes: 1 })
      else known.rows++
    }
    const next = pickInsert(waiting.values(), { nowMs, delayMs: DELAY_MS, bytes: waiting.size })
    if (next === undefined) {
      nowMs += 10
      continue
    }
    for (const { streamId, sinceMs } of next.buffers) {
      waiting.delete(streamId)
      ages.push(nowMs - sinceMs)
    }
    inserts++
    nowMs += options.insertMs
  }
  return { oldestMs: Math.max(...ages), inserts }
}

test('a thousand small streams wait no longer than one, and cost as many inserts', () => {
  const { oldestMs, inserts } = simulate({
    streams: 1_000,
    everyMs: 500,
    insertMs: 100,
    ms: 60_000,
  })
  assert(oldestMs <= DELAY_MS + 200, `${oldestMs} ms`)
  assert(inserts <= 60_000 / DELAY_MS, `${inserts} inserts`)
})

test('few busy streams are inserted as often as the set delay says', () => {
  const { oldestMs, inserts } = simulate({ streams: 8, everyMs: 100, insertMs: 5, ms: 20_000 })
  assert(oldestMs <= DELAY_MS + 100)
  assert(inserts >= 8 * 8 && inserts <= 8 * 10, `${inserts} inserts`)
})
