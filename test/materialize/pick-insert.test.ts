/**
 * Goal: few streams wait as long as they always did; many wait longer, never past the bound, and
 * are inserted less often each, however they fall due.
 * Method: tables of the policy, then a simulated clock: streams that all have something all the
 * time, inserts that take so long, and what each insert found waiting.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_BUSY_DELAY_MS_MAX,
  MATERIALIZE_DELAY_MS_MAX,
  MATERIALIZE_INSERT_BYTES,
  MATERIALIZE_INSERT_ROWS,
  MATERIALIZE_STREAM_MS,
} from '../../src/limits.ts'
import { Pace, type Waiting } from '../../src/materialize/pace.ts'

const DELAY_MS = MATERIALIZE_DELAY_MS_MAX

function waitingOf(...all: readonly Waiting[]): Map<number, Waiting> {
  return new Map(all.map((each, index) => [index, each]))
}

const small = (sinceMs: number, bytes = 100): Waiting => ({ sinceMs, rows: 1, bytes })

test('the delay grows with the streams that wait, from the set one to the bound', () => {
  const pace = new Pace(DELAY_MS)
  for (const [streams, delayMs] of [
    [0, DELAY_MS],
    [1, DELAY_MS],
    [DELAY_MS / MATERIALIZE_STREAM_MS, DELAY_MS],
    [200, 200 * MATERIALIZE_STREAM_MS],
    [MATERIALIZE_BUSY_DELAY_MS_MAX / MATERIALIZE_STREAM_MS, MATERIALIZE_BUSY_DELAY_MS_MAX],
    [100_000, MATERIALIZE_BUSY_DELAY_MS_MAX],
  ] as const) {
    assert.equal(pace.delayMs(streams), delayMs, `${streams} streams`)
  }
  assert.equal(new Pace(60_000).delayMs(1_000), 60_000, 'who asks for longer gets it')
})

test('one stream is due after the set delay, not before', () => {
  const pace = new Pace(DELAY_MS)
  const waiting = waitingOf(small(1_000))
  const at = (nowMs: number) => pace.pick(waiting, { nowMs, bytes: 100 })
  assert.equal(at(1_000 + DELAY_MS - 1), undefined)
  assert.equal(at(1_000 + DELAY_MS), waiting.get(0))
  assert.equal(pace.pick(waitingOf(), { nowMs: 0, bytes: 0 }), undefined)
})

test('a full stream goes first, whatever its age; then the oldest', () => {
  const pace = new Pace(DELAY_MS)
  const options = { nowMs: DELAY_MS, bytes: 100 }
  for (const full of [
    { sinceMs: DELAY_MS, rows: MATERIALIZE_INSERT_ROWS, bytes: 1 },
    { sinceMs: DELAY_MS, rows: 1, bytes: MATERIALIZE_INSERT_BYTES },
  ]) {
    assert.equal(pace.pick(waitingOf(small(0), full), options), full)
  }
  const waiting = waitingOf(small(0), small(1, 1_000))
  assert.equal(pace.pick(waiting, options), waiting.get(0))
})

test('past half of MATERIALIZE_BUFFER_BYTES_MAX the largest goes before its time', () => {
  const pace = new Pace(DELAY_MS)
  const waiting = waitingOf(small(0), small(1, 900), small(2))
  const half = MATERIALIZE_BUFFER_BYTES_MAX / 2
  assert.equal(pace.pick(waiting, { nowMs: 10, bytes: half }), undefined)
  assert.equal(pace.pick(waiting, { nowMs: 10, bytes: half + 1 }), waiting.get(1))
})

/** `streams` streams get something every `everyMs`; returns the ages found and how many inserts. */
function simulate(options: { streams: number; everyMs: number; insertMs: number; ms: number }) {
  const pace = new Pace(DELAY_MS)
  const waiting = new Map<number, { sinceMs: number; rows: number; bytes: number }>()
  const ages: number[] = []
  let cameMs = 0
  for (let nowMs = 0; nowMs < options.ms; ) {
    // What came while the last insert ran.
    for (; cameMs <= nowMs; cameMs += options.everyMs / options.streams) {
      const stream = Math.round((cameMs * options.streams) / options.everyMs) % options.streams
      const known = waiting.get(stream)
      if (known === undefined) waiting.set(stream, { sinceMs: cameMs, rows: 1, bytes: 1 })
      else known.rows++
    }
    const next = pace.pick(waiting, { nowMs, bytes: waiting.size })
    if (next === undefined) {
      nowMs += 10
      continue
    }
    for (const [stream, each] of waiting) if (each === next) waiting.delete(stream)
    ages.push(nowMs - next.sinceMs)
    nowMs += options.insertMs
    pace.saw(1, options.insertMs)
  }
  return { ages, inserts: ages.length }
}

test('streams that fall due together are begun early enough, and only then', () => {
  // 1,000 streams whose first events come at once: 5 s of inserts.
  const { ages, inserts } = simulate({ streams: 1_000, everyMs: 500, insertMs: 5, ms: 60_000 })
  assert(Math.max(...ages) < MATERIALIZE_BUSY_DELAY_MS_MAX + 200, `${Math.max(...ages)} ms`)
  // Not more than each stream once in the bound, but for the first ones.
  assert(inserts < 1.4 * 1_000 * (60_000 / MATERIALIZE_BUSY_DELAY_MS_MAX), `${inserts} inserts`)
})

test('inserts too slow for the bound go on without a pause, each stream in turn', () => {
  const { ages } = simulate({ streams: 1_000, everyMs: 500, insertMs: 9, ms: 60_000 })
  assert(Math.max(...ages) < 1_000 * 9 + DELAY_MS + 700, `${Math.max(...ages)} ms`)
})

test('few busy streams are inserted as often as the set delay says', () => {
  const { ages, inserts } = simulate({ streams: 8, everyMs: 100, insertMs: 5, ms: 20_000 })
  assert(Math.max(...ages) <= DELAY_MS + 100)
  assert(inserts >= 8 * 8 && inserts <= 8 * 10, `${inserts} inserts`)
})
