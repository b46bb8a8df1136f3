/**
 * Goal: streams with something full or due take turns; in the same turn a full insert goes first,
 * then the oldest that is due; the largest when memory presses.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MATERIALIZE_DELAY_MS_MAX } from '../../src/config.ts'
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_INSERT_BYTES,
  MATERIALIZE_INSERT_ROWS,
} from '../../src/limits.ts'
import { pickInsert, SPOOL_INSERT_BYTES, type Waiting } from '../../src/materialize/pick-insert.ts'
import { SPOOL_INSERT_ROWS } from '../../src/store/projection/projection-store.ts'

const DELAY_MS = MATERIALIZE_DELAY_MS_MAX
const some = (sinceMs: number, rows = 1, bytes = 100): Waiting => ({ sinceMs, rows, bytes })

/** Which of `waiting` is picked, -1 for none. */
function pick(waiting: readonly Waiting[], { nowMs = DELAY_MS, keptBytes = 0 } = {}): number {
  const picked = pickInsert(waiting, { nowMs, delayMs: DELAY_MS, keptBytes })
  return picked === undefined ? -1 : waiting.indexOf(picked)
}

test('one stream is due after the set delay, not before', () => {
  const waiting = [some(1_000)]
  assert.equal(pick(waiting, { nowMs: 1_000 + DELAY_MS - 1 }), -1)
  assert.equal(pick(waiting, { nowMs: 1_000 + DELAY_MS }), 0)
  assert.equal(pick([]), -1)
})

test('a full one goes first, whatever its age; then the oldest that is due', () => {
  for (const full of [
    some(DELAY_MS, MATERIALIZE_INSERT_ROWS, 1),
    some(DELAY_MS, 1, MATERIALIZE_INSERT_BYTES),
  ]) {
    assert.equal(pick([some(0), some(1), full]), 2)
  }
  const nearly = some(1, MATERIALIZE_INSERT_ROWS - 1, MATERIALIZE_INSERT_BYTES - 1)
  assert.equal(pick([some(0), nearly]), 0)
  assert.equal(pick([some(1), nearly]), -1)
})

test('a stream whose turn was last waits for the others, however much it has', () => {
  const full = (turn: number) => ({ ...some(0, MATERIALIZE_INSERT_ROWS), turn })
  assert.equal(pick([full(3), full(2), { ...some(0), turn: 1 }]), 2)
  assert.equal(pick([full(3), full(2), some(1)]), 1, 'the last is not due')
  assert.equal(pick([full(3), some(0)]), 1)
})

test('past half the memory the largest goes, due or not', () => {
  const spooled = { ...some(2, 1, 9_000), spool: { rowsMax: SPOOL_INSERT_ROWS } }
  const waiting = [some(1), spooled, some(2, 1, 5_000), some(3)]
  const keptBytes = MATERIALIZE_BUFFER_BYTES_MAX / 2
  assert.equal(pick(waiting, { keptBytes }), -1)
  assert.equal(pick(waiting, { keptBytes: keptBytes + 1 }), 2)
  assert.equal(pick(waiting, { keptBytes: keptBytes + 1, nowMs: 1 + DELAY_MS }), 0)
})

test('a spooled buffer is full later', () => {
  const spool = { rowsMax: SPOOL_INSERT_ROWS }
  const nearly = { ...some(1, SPOOL_INSERT_ROWS - 1, SPOOL_INSERT_BYTES - 1), spool }
  assert.equal(pick([some(1), nearly]), -1)
  assert.equal(pick([some(1), { ...nearly, rows: SPOOL_INSERT_ROWS }]), 1)
  assert.equal(pick([some(1), { ...nearly, bytes: SPOOL_INSERT_BYTES }]), 1)
  assert.equal(pick([some(1), { ...nearly, spool: { rowsMax: nearly.rows } }]), 1)
})
