/** Goal: proposals never cost more than they may, and a query can be typed without them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMPLETE_MS_MAX, COMPLETE_PROPOSALS_MAX } from '../../../src/limits.ts'
import type { SourceStream } from '../../../src/model/field-catalog.ts'
import type { Stream, StreamId } from '../../../src/model/stream.ts'
import { type CompleteDeps, completeQuery } from '../../../src/read/search/complete-query.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { indexOf } from '../field-indexes.ts'

const STREAM = { streamId: 7 as StreamId } as Stream
const SIGNAL = new AbortController().signal

function depsWith(topValues: CompleteDeps['topValues']): CompleteDeps {
  const source = { streamId: STREAM.streamId, catalog: { paths: [] } } as unknown as SourceStream
  const readExtent = async () => ({ start: 1n, end: 1n << 60n, eventsPerMs: 1, eventBytes: 9 })
  return {
    openStreams: async () => [source],
    sources: { readExtent } as unknown as CompleteDeps['sources'],
    topValues,
    fieldIndex: indexOf(Array.from({ length: 50 }, (_, n) => [`field${n}`, 'string', n])),
  }
}

const at = (text: string) => ({ text, at: text.length })

test('values may take COMPLETE_MS_MAX; without ClickHouse none are proposed', async () => {
  const asked: number[] = []
  const deps = depsWith(async ({ msMax, limit }) => {
    asked.push(msMax, limit)
    throw new StoreError('unavailable', 'clickhouse: timeout')
  })
  const { kind, proposals } = await completeQuery(deps, [STREAM], at('field1:x'), SIGNAL)
  assert.equal(kind, 'value')
  assert.deepEqual(proposals, [])
  assert.deepEqual(asked, [COMPLETE_MS_MAX, COMPLETE_PROPOSALS_MAX])
})

test('at most COMPLETE_PROPOSALS_MAX fields are proposed, without asking for values', async () => {
  const deps = depsWith(async () => assert.fail('no value is wanted'))
  const { proposals } = await completeQuery(deps, [STREAM], at('IEL'), SIGNAL)
  assert.equal(proposals.length, COMPLETE_PROPOSALS_MAX)
  const [most] = proposals
  assert.deepEqual([most?.text, most?.types, most?.share], ['field49:', ['string'], 0.49])
})

test('a value that reads as something else is quoted', async () => {
  const deps = depsWith(async () => [
    { value: '12', isString: true, count: 3 },
    { value: '12', isString: false, count: 2 },
    { value: 'a b', isString: true, count: 1 },
    { value: 'or', isString: true, count: 1 },
    { value: 'plain', isString: true, count: 1 },
  ])
  const { proposals } = await completeQuery(deps, [STREAM], at('field1:'), SIGNAL)
  assert.deepEqual(
    proposals.map(({ text }) => text),
    ['"12"', '12', '"a b"', '"or"', 'plain'],
  )
})
