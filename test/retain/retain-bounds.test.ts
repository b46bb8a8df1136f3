/**
 * Goal: retention works as often, for as long and on as much as its limits say.
 * Method: stores that only count, and time in the test's hands; each limit just missed and hit.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  MERGE_BYTES_MAX,
  MERGE_CROWDED_BYTES_MAX,
  RETAIN_STEP_MS_TARGET,
  RETAIN_TRIM_MS,
  RETAIN_TRIM_SHARE,
  RETAIN_TURN_MS,
} from '../../src/limits.ts'
import { type SegmentId, segmentIdAt, segmentIdMs } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import {
  MERGE_BUSY_PARTS_A_MINUTE,
  MERGE_PARTS_CROWDED,
  MERGE_PARTS_CROWDED_BUSY,
  MERGE_PARTS_RELAXED,
  MERGE_TABLE_PARTS_CROWDED,
  MERGE_TABLE_PARTS_RELAXED,
  MergeBounds,
} from '../../src/retain/merge-bounds.ts'
import { MixedTrimmer } from '../../src/retain/mixed-trimmer.ts'
import {
  RETAIN_PROJECTION_MS,
  RETAIN_ROUND_MS,
  RETAIN_TABLES_MS,
  Retainer,
  type RetainObserver,
} from '../../src/retain/retainer.ts'
import {
  RETAIN_AGE_SCAN_MS,
  RETAIN_STEP_ROWS_MAX,
  RETAIN_YOUNGEST_MS,
  RowRemover,
} from '../../src/retain/row-remover.ts'
import type { MixedParts } from '../../src/store/projection/mixed-parts.ts'
import type { RetentionStore } from '../../src/store/raw/retention-store.ts'
import { virtualTime } from '../support/virtual-time.ts'

const STREAM = 7 as StreamId
const NEVER = new AbortController().signal
const NOW_MS = Date.parse('2026-05-05T10:00:00Z')

test('RETAIN_ROUND_MS, RETAIN_PROJECTION_MS and RETAIN_TABLES_MS between rounds', async (t) => {
  const time = virtualTime(t)
  const rounds: number[] = []
  const trims: number[] = []
  const tables: number[] = []
  const note = (list: number[]) => async () => {
    list.push(time.nowMs)
    return false
  }
  const retainer = new Retainer({
    lock: { isHeld: true, tryHold: async () => true, stop: async () => undefined },
    removeRows: note(rounds),
    compact: async () => false,
    trimProjection: note(trims),
    reconcileTables: note(tables),
    observer: { onWorker: () => undefined, onError: assert.fail } as unknown as RetainObserver,
  })
  retainer.start()
  await time.pass(2 * RETAIN_PROJECTION_MS)
  const every = (ms: number) =>
    Array.from({ length: 1 + (2 * RETAIN_PROJECTION_MS) / ms }, (_, index) => index * ms)
  assert.deepEqual(rounds, every(RETAIN_ROUND_MS))
  assert.deepEqual(trims, every(RETAIN_PROJECTION_MS))
  assert.deepEqual(tables, every(RETAIN_TABLES_MS))
  await retainer.stop()
})

/** A remover over a stream that has rows enough, and what it asked of its store. */
function removerOf(removeRows: (limit: number) => Promise<number>, over = false) {
  const asked = { ageScans: 0, before: [] as SegmentId[], limits: [] as number[] }
  const store = {
    markDeleted: async () => (over ? [] : [STREAM]),
    markByAge: async () => {
      asked.ageScans++
    },
    findUnfinished: async () => [],
    findOverCap: async () =>
      over ? [{ streamId: STREAM, excessBytes: 1, projectionBytesPerEvent: 0 }] : [],
    listOldest: async (_stream: StreamId, before: SegmentId) => {
      asked.before.push(before)
      return []
    },
    readClock: async () => NOW_MS,
    removeRows: async (_stream: StreamId, limit: number) => {
      asked.limits.push(limit)
      return { rows: await removeRows(limit), events: 0, bytes: 0 }
    },
    purgeDeleted: async () => 0,
  }
  const remover = new RowRemover({
    store: store as unknown as RetentionStore,
    observer: { onRemoved: () => undefined },
    nowMs: () => NOW_MS,
  })
  return { remover, asked }
}

test('events past retention are looked for every RETAIN_AGE_SCAN_MS', async (t) => {
  const time = virtualTime(t)
  const { remover, asked } = removerOf(async () => 0)
  await remover.round(NEVER)
  time.work(RETAIN_AGE_SCAN_MS - 1)
  await remover.round(NEVER)
  assert.equal(asked.ageScans, 1)
  time.work(1)
  await remover.round(NEVER)
  assert.equal(asked.ageScans, 2)
})

test('a cap never removes events younger than RETAIN_YOUNGEST_MS', async () => {
  const { remover, asked } = removerOf(async () => 0, true)
  await remover.round(NEVER)
  assert.deepEqual(asked.before, [segmentIdAt(NOW_MS - RETAIN_YOUNGEST_MS)])
  assert.equal(segmentIdMs(asked.before[0]!), NOW_MS - RETAIN_YOUNGEST_MS)
})

/** The sizes of all steps of one turn whose steps take so long. */
async function stepsOf(t: TestContext, stepMs: number): Promise<readonly number[]> {
  const time = virtualTime(t)
  const { remover, asked } = removerOf(async (limit) => {
    time.work(stepMs)
    return limit
  })
  let isOver = false
  const round = remover.round(NEVER).then((isMore) => {
    isOver = true
    assert.equal(isMore, true)
  })
  while (!isOver) await time.pass(stepMs)
  await round
  return asked.limits
}

test('a step that takes longer than RETAIN_STEP_MS_TARGET is halved', async (t) => {
  const steps = await stepsOf(t, RETAIN_STEP_MS_TARGET + 1)
  assert.deepEqual(steps.slice(0, 7), [64, 32, 16, 8, 4, 2, 1])
})

test('a step that takes RETAIN_STEP_MS_TARGET, or half of it, stays as it is', async (t) => {
  assert.deepEqual([...new Set(await stepsOf(t, RETAIN_STEP_MS_TARGET))], [64])
})

test('a step that takes less than half is doubled, up to RETAIN_STEP_ROWS_MAX', async (t) => {
  const steps = await stepsOf(t, RETAIN_STEP_MS_TARGET / 2 - 1)
  assert.deepEqual(steps.slice(0, 5), [64, 128, 256, 512, RETAIN_STEP_ROWS_MAX])
  assert.equal(Math.max(...steps), RETAIN_STEP_ROWS_MAX)
})

test('a stream has its turn for RETAIN_TURN_MS, half of it at rest', async (t) => {
  const steps = await stepsOf(t, RETAIN_STEP_MS_TARGET)
  assert.equal(steps.length, RETAIN_TURN_MS / (2 * RETAIN_STEP_MS_TARGET))
})

test('rows are deleted from RETAIN_TRIM_SHARE on, looked at each RETAIN_TRIM_MS', async (t) => {
  const time = virtualTime(t)
  const rows = 1_000
  let removed = rows * RETAIN_TRIM_SHARE - 1
  let counts = 0
  let deletes = 0
  const mixed = {
    countBefore: async (_id: string, marks: readonly unknown[]) => marks.length * removed,
    countRows: async () => {
      counts++
      return rows
    },
    startDelete: async () => {
      deletes++
    },
  }
  const trimmer = new MixedTrimmer({
    mixed: mixed as unknown as MixedParts,
    parts: { isDeleting: async () => false },
    observer: { onTrimmed: () => undefined },
  })
  const shares = new Map([[STREAM, { oldestMs: NOW_MS - 3_600_000, rows, bytes: 1 }]])
  const partition = { id: '20260505', rows, bytes: 1, shares }
  const mark = { removedBefore: segmentIdAt(NOW_MS), events: 1, isDeleted: false, isGone: false }
  const trim = () => trimmer.trim([partition], new Map([[STREAM, mark]]), NEVER)
  await trim()
  assert.deepEqual([counts, deletes], [1, 0], 'a row less than the share')
  removed++
  time.work(RETAIN_TRIM_MS - 1)
  await trim()
  assert.deepEqual([counts, deletes], [1, 0], 'too soon')
  time.work(1)
  await trim()
  assert.deepEqual([counts, deletes], [2, 1])
})

/** How bounds are set for a table that has so many parts, one after the other, every 12 seconds. */
async function boundsSet(
  t: TestContext,
  tables: readonly { dayParts: number; parts: number; narrowParts: number }[],
  wasCrowded = false,
) {
  const time = virtualTime(t)
  const set: number[] = []
  const bounds = new MergeBounds({
    parts: {
      listOtherwiseMerged: async () => (wasCrowded ? [STREAM] : []),
      setMergeBytes: async (_stream, bytes) => {
        set.push(bytes)
      },
    },
  })
  const after: number[][] = []
  for (const table of tables) {
    await bounds.round([{ streamId: STREAM, ...table }], NEVER)
    time.work(12_000)
    after.push(set.splice(0))
  }
  return after
}

/** What the bounds do with a table of so many parts, crowded before or not. */
async function boundSet(
  t: TestContext,
  dayParts: number,
  parts: number,
  wasCrowded: boolean,
  narrowParts = 0,
) {
  const table = { dayParts, parts, narrowParts }
  return (await boundsSet(t, [table, table], wasCrowded)).flat()
}

test('a table is crowded by MERGE_PARTS_CROWDED or MERGE_TABLE_PARTS_CROWDED', async (t) => {
  const [day, all] = [MERGE_PARTS_CROWDED, MERGE_TABLE_PARTS_CROWDED]
  assert.deepEqual(await boundSet(t, day - 1, all - 1, false), [])
  assert.deepEqual(await boundSet(t, day, all - 1, false), [MERGE_CROWDED_BYTES_MAX])
  assert.deepEqual(await boundSet(t, day - 1, all, false), [MERGE_CROWDED_BYTES_MAX])
})

test('at full load only by MERGE_PARTS_CROWDED_BUSY, until that is over', async (t) => {
  const growth = MERGE_BUSY_PARTS_A_MINUTE / 5
  const tableOf = (parts: number) => ({ dayParts: parts, parts, narrowParts: 0 })
  const rising = (from: number, by: number, to: number) => {
    const steps = Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, n) => from + n * by)
    return steps.map(tableOf)
  }
  // Nobody knows at a start whether it is amid full load.
  const busy = rising(MERGE_PARTS_CROWDED, growth, MERGE_PARTS_CROWDED_BUSY)
  const set = await boundsSet(t, busy)
  assert.deepEqual(set.at(-1), [MERGE_CROWDED_BYTES_MAX])
  assert.deepEqual(set.slice(0, -1).flat(), [])

  const calm = rising(MERGE_PARTS_CROWDED - 2 * growth, growth - 1, MERGE_PARTS_CROWDED + 1)
  assert.deepEqual((await boundsSet(t, calm)).slice(-1), [[MERGE_CROWDED_BYTES_MAX]])
  const over = [...rising(MERGE_PARTS_CROWDED, growth, 600), tableOf(600)]
  assert.deepEqual((await boundsSet(t, over)).slice(-2), [[], [MERGE_CROWDED_BYTES_MAX]])
})

test('large compact parts crowd a table of wide ones: merging makes them wide', async (t) => {
  assert.deepEqual(await boundSet(t, 1, 1, false, 1), [MERGE_CROWDED_BYTES_MAX])
  assert.deepEqual(await boundSet(t, 1, 1, true, 1), [])
  assert.deepEqual(await boundSet(t, 1, 1, true, 0), [MERGE_BYTES_MAX])
})

test('until below MERGE_PARTS_RELAXED and MERGE_TABLE_PARTS_RELAXED', async (t) => {
  const [day, all] = [MERGE_PARTS_RELAXED, MERGE_TABLE_PARTS_RELAXED]
  assert.deepEqual(await boundSet(t, day, all - 1, true), [])
  assert.deepEqual(await boundSet(t, day - 1, all, true), [])
  assert.deepEqual(await boundSet(t, day - 1, all - 1, true), [MERGE_BYTES_MAX])
})
