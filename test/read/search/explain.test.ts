/**
 * Goal: when there is no time for the last clauses, those before are explained all the same.
 * Method: a store that runs out of time at the third question.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../../src/errors.ts'
import type { Stream } from '../../../src/model/stream.ts'
import { TextNames } from '../../../src/model/text-fields.ts'
import { type ExplainDeps, explain } from '../../../src/read/search/explain.ts'
import { readSearchRequest } from '../../../src/read/search/search-request.ts'

const STREAM = {
  streamId: 7,
  catalog: { textFields: [], textNames: new TextNames([]), textPaths: [], observed: new Map() },
} as unknown as Stream
const NOW_MS = Date.parse('2026-01-01T00:00:00Z')

function explainWith(reason: string) {
  let asked = 0
  const explainIds: ExplainDeps['explainIds'] = async () => {
    if (++asked === 3) throw new IngestError('unavailable', 'no', { members: { reason } })
    return { indexes: [], granules: { selected: 1, total: 2 } }
  }
  const openStreams = async () => [STREAM]
  const deps = { explainIds, openStreams, nowMs: () => NOW_MS } as unknown as ExplainDeps
  const request = readSearchRequest({ query: 'a:1 b:2 c:3' }, NOW_MS)
  return explain(deps, request, STREAM, new AbortController().signal)
}

test('out of time at the second clause: the first one is told', async () => {
  const { clauses } = await explainWith('timeout')
  assert.deepEqual(
    clauses.map(({ query }) => query),
    ['a:1'],
  )
})

test('another failure is one of the whole', async () => {
  await assert.rejects(explainWith('memory'), { members: { reason: 'memory' } })
})
