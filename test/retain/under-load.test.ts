/**
 * Goal: a stream loses much at once, from both stores, in small steps, and meanwhile ingest into
 * another one goes on: nothing is refused, nothing of it is lost. The large one: bench:retention.
 * Method: real stores; a writer commits as fast as it can while the retainer works as it does live.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Retainer } from '../../src/retain/retainer.ts'
import { RETAIN_STEP_ROWS_MAX } from '../../src/retain/row-remover.ts'
import { eventually } from '../store/temporary.ts'
import { type NewSegment, RetainHarness } from './retain-harness.ts'

const SEGMENTS = 1_500
const EVENTS_A_SEGMENT = 60
const DAY_MS = 86_400_000
/** Noon, so that all of it is of one day. */
const NOON = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS / 2

let harness: RetainHarness

before(async () => {
  harness = await RetainHarness.start({ clickhouse: true })
})

after(async () => harness?.close())

function segmentsFrom(ms: number, count: number): NewSegment[] {
  const lines = Array.from({ length: EVENTS_A_SEGMENT }, (_, n) => `{"n":${n},"text":"some text"}`)
  return Array.from({ length: count }, (_, i) => ({ ms: ms + i, lines }))
}

test('much is removed from both stores while ingest goes on, unharmed', async (t) => {
  const full = await harness.newStream()
  const busy = await harness.newStream()
  await harness.commitAndProject(full, segmentsFrom(NOON, SEGMENTS))
  assert.equal(await harness.counted(full), SEGMENTS * EVENTS_A_SEGMENT)
  const lock = harness.newLock()
  const [remover, trimmer] = [harness.newRemover(lock), harness.newTrimmer()]
  const retainer = new Retainer({
    lock,
    removeRows: (signal) => remover.round(signal),
    compact: async () => false,
    trimProjection: (signal) => trimmer.round(signal),
    observer: harness.observer,
    roundMs: 20,
    projectionMs: 200,
  })
  await harness.control.updateStream(full, { maxStoredBytes: 1 })
  let isOver = false
  let committed = 0
  const writer = async () => {
    while (!isOver) {
      const [segment] = segmentsFrom(Date.now(), 1)
      await harness.commit(busy, [segment!]) // Throws when it is refused.
      committed++
    }
  }
  const writing = writer()
  retainer.start()
  await eventually('the rows go', async () => (await harness.rowIds(full)).length === 0, 20_000)
  const during = committed
  await eventually('the projection too', async () => (await harness.projectedRows(full)) === 0)
  isOver = true
  await writing
  await retainer.stop()

  const removed = harness.observed.flatMap((line) => /^removed bytes (\d+)$/.exec(line)?.[1] ?? [])
  t.diagnostic(`${during} commits while rows went in ${removed.length} steps: ${removed.join(' ')}`)
  assert.equal(
    removed.reduce((sum, rows) => sum + Number(rows), 0),
    SEGMENTS,
  )
  assert(removed.length > 3, 'in steps')
  assert(removed.every((rows) => Number(rows) <= RETAIN_STEP_ROWS_MAX))
  assert(during > removed.length, 'ingest had its turn between any two steps')
  assert.equal((await harness.rowIds(busy)).length, committed)
  assert.equal((await harness.usage.readUsage(busy)).events, committed * EVENTS_A_SEGMENT)
  await harness.assertUsageIsTrue(full)
  assert.deepEqual(
    harness.observed.filter((line) => line.startsWith('error')),
    [],
  )
})
