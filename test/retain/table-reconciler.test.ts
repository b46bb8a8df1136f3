/**
 * Goal: every table is compared with what its stream needs; at most one day of one table is written
 * anew at a time; what fails keeps nothing else from being done.
 * Method: a fake keeper. What its statements do: `test/store/projection/table-keeper.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamId } from '../../src/model/stream.ts'
import { NO_NEEDS, type TableNeeds } from '../../src/model/table-needs.ts'
import {
  BARE_ROWS_SHARE,
  RETAIN_REINDEX_MS,
  RETAIN_TABLES_MAX,
  TableReconciler,
} from '../../src/retain/table-reconciler.ts'
import type { FormPartition, TableForm } from '../../src/store/projection/table-keeper.ts'

const NEVER = new AbortController().signal
const form = (streamId: number): TableForm => {
  return { streamId: streamId as StreamId, engineFull: '', indexes: [], counts: [] }
}
const day = (streamId: number, id: string, changes: Partial<FormPartition>): FormPartition => ({
  streamId: streamId as StreamId,
  id,
  parts: 2,
  rows: 10,
  firstBlock: 1n,
  unindexedRows: 0,
  bareRows: 0,
  isOver: true,
  narrowParts: 0,
  waitingRows: changes.unindexedRows ?? 0,
  ...changes,
})

class Fake {
  forms = [form(1), form(2)]
  partitions: FormPartition[] = []
  failing: { streamId: StreamId; reason: string }[] = []
  changing = false
  refuses: number | undefined
  nowMs = 0
  needs = new Map<number, TableNeeds>([
    [1, NO_NEEDS],
    [2, NO_NEEDS],
  ])
  readonly done: unknown[] = []
  readonly told: unknown[] = []
  readonly reconciler = new TableReconciler({
    tables: {
      listForms: async () => this.forms,
      listPartitions: async () => this.partitions,
      isChanging: async () => this.changing,
      endFailing: async () => this.failing.splice(0),
      alter: async ({ streamId }) => {
        this.done.push(['alter', streamId])
        if (streamId === this.refuses) throw new Error('unknown setting')
        return false
      },
      startIndexing: async ({ streamId }, { id }) => {
        this.done.push(['index', streamId, id])
      },
    },
    readNeeds: async (ids) => {
      assert.ok(ids.length <= RETAIN_TABLES_MAX)
      return new Map([...this.needs].filter(([id]) => ids.includes(id as StreamId))) as never
    },
    observer: {
      onAltered: (streamId) => this.told.push(['altered', streamId]),
      onWaiting: (streamId, rows) => this.told.push([streamId, rows]),
      onWaitingInAll: (rows) => this.told.push(rows),
      onError: (streamId, cause) => this.told.push([streamId, String(cause)]),
    },
    nowMs: () => this.nowMs,
  })
}

test('the newest day that lacks indexes is next, one at a time', async () => {
  const fake = new Fake()
  fake.partitions = [
    day(1, '20260506', {}),
    day(2, '20260505', { unindexedRows: 4 }),
    day(1, '20260504', { unindexedRows: 6 }),
  ]
  await fake.reconciler.round(NEVER)
  const altered = [
    ['alter', 1],
    ['alter', 2],
  ]
  assert.deepEqual(fake.done.splice(0), [...altered, ['index', 2, '20260505']])
  assert.deepEqual(fake.told.splice(0), [[2, 4], [1, 6], 10])
  fake.changing = true
  await fake.reconciler.round(NEVER)
  assert.deepEqual(fake.done.splice(0), altered, 'something is written anew already')
  assert.deepEqual(fake.told.splice(0), [10], 'nothing is new')
  fake.partitions = []
  await fake.reconciler.round(NEVER)
  assert.deepEqual(fake.told, [[2, 0], [1, 0], 0])
})

test('compact parts that merging makes wide are left to it, if they are not alone', async () => {
  const fake = new Fake()
  fake.partitions = [
    day(1, '20260506', { unindexedRows: 4, narrowParts: 1 }),
    day(1, '20260505', { unindexedRows: 4, narrowParts: 1, parts: 1 }),
  ]
  await fake.reconciler.round(NEVER)
  assert.deepEqual(fake.done.at(-1), ['index', 1, '20260505'])
})

test('large parts without indexes wait till they are a share of the day, or it ends', async () => {
  const fake = new Fake()
  const rows = 100
  const share = BARE_ROWS_SHARE * rows
  const bare = (count: number, isOver: boolean) => {
    fake.partitions = [day(1, '20260506', { rows, unindexedRows: count, bareRows: count, isOver })]
    return fake.reconciler.round(NEVER)
  }
  await bare(share - 1, false)
  assert.deepEqual(fake.done.at(-1), ['alter', 2], 'few of them')
  assert.deepEqual(fake.told, [[1, share - 1], share - 1], 'they are told')
  await bare(share, false)
  assert.deepEqual(fake.done.at(-1), ['index', 1, '20260506'])
  await bare(share - 1, true)
  assert.deepEqual(fake.done.slice(-2), [
    ['alter', 2],
    ['index', 1, '20260506'],
  ])
})

test('a refused statement keeps no other table from anything', async () => {
  const fake = new Fake()
  fake.refuses = 1
  fake.partitions = [day(2, '20260505', { unindexedRows: 4 })]
  await assert.rejects(fake.reconciler.round(NEVER), /unknown setting/)
  assert.deepEqual(fake.done, [
    ['alter', 1],
    ['alter', 2],
    ['index', 2, '20260505'],
  ])
})

test('an index that could not be made: its table is left alone for a while', async () => {
  const fake = new Fake()
  fake.partitions = [day(1, '20260505', { unindexedRows: 4 })]
  fake.failing = [{ streamId: 1 as StreamId, reason: 'no memory' }]
  await fake.reconciler.round(NEVER)
  assert.ok(!fake.done.some((what) => (what as unknown[])[0] === 'index'))
  assert.deepEqual(fake.told[0], [1, 'Error: no memory'])
  fake.partitions.push(day(2, '20260504', { unindexedRows: 1 }))
  await fake.reconciler.round(NEVER)
  assert.deepEqual(fake.done.at(-1), ['index', 2, '20260504'])
  fake.nowMs = RETAIN_REINDEX_MS
  await fake.reconciler.round(NEVER)
  assert.deepEqual(fake.done.at(-1), ['index', 1, '20260505'], 'it is tried again')
})

test('many tables are compared some at a time; those of unknown streams are left', async () => {
  const fake = new Fake()
  fake.forms = Array.from({ length: 2 * RETAIN_TABLES_MAX + 1 }, (_, n) => form(n + 1))
  await fake.reconciler.round(NEVER)
  assert.deepEqual(fake.done, [
    ['alter', 1],
    ['alter', 2],
  ])
})
