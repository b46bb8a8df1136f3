/** Goal: a request over several streams is about those that its token may see, and no others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IngestError } from '../../src/errors.ts'
import { READ_STREAMS_MAX } from '../../src/limits.ts'
import type { Principal, Stream, StreamId } from '../../src/model/stream.ts'
import {
  findStreams,
  findVisibleStream,
  listVisibleStreams,
  type StreamSource,
  splitStreams,
} from '../../src/read/find-streams.ts'

const stream = (id: number, owner: string) => ({ streamId: id as StreamId, owner }) as Stream

const sourceOf = (streams: readonly Stream[]): StreamSource => ({
  findStreams: async (ids) => streams.filter(({ streamId }) => ids.includes(streamId)),
  listStreams: async (owner, { after, limit }) => {
    const seen = streams.filter((one) => owner === undefined || one.owner === owner)
    return seen.filter(({ streamId }) => streamId > after).slice(0, limit)
  },
})

const asker = (owner: string, ...scopes: string[]) =>
  ({ tokenId: 1, owner, scopes: new Set(scopes) }) as unknown as Principal

const source = sourceOf([stream(1, 'ann'), stream(2, 'bob'), stream(3, 'ann')])
const idsOf = async (principal: Principal, wanted?: unknown) => {
  return (await findStreams(source, principal, wanted)).map(({ streamId }) => streamId)
}

test('all of the owner, all of all for an admin, or those that are named', async () => {
  assert.deepEqual(await idsOf(asker('ann')), [1, 3])
  assert.deepEqual(await idsOf(asker('ann'), '*'), [1, 3])
  assert.deepEqual(await idsOf(asker('root', 'admin'), '*'), [1, 2, 3])
  assert.deepEqual(await idsOf(asker('ann'), ['3', '1', '3']), [1, 3])
  assert.deepEqual(await idsOf(asker('root', 'admin'), splitStreams('2, 3')), [2, 3])
})

test("somebody else's stream is as if it were not there", async () => {
  const refused = async (wanted: unknown) => {
    const cause: unknown = await findStreams(source, asker('ann'), wanted).catch((error) => error)
    assert.ok(cause instanceof IngestError)
    return [cause.code, cause.message.replace(/\d+$/, 'N')]
  }
  assert.deepEqual(await refused(['1', '2']), await refused(['1', '9']))
  for (const id of ['', 'x', '01', '-1', '4294967296', '1.0', '٣']) {
    assert.equal((await refused([id]))[0], 'malformed', id)
  }
})

test('all ways to find streams agree on which a token sees', async () => {
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 12 })
  const property = fc.asyncProperty(
    ids,
    fc.option(ids, { nil: undefined }),
    fc.constantFrom('ann', 'bob'),
    fc.boolean(),
    fc.integer({ min: 1, max: 4 }),
    async (live, limit, owner, isAdmin, pageSize) => {
      const sorted = live.toSorted((a, b) => a - b)
      const all = sourceOf(sorted.map((id) => stream(id, id % 2 === 0 ? 'ann' : 'bob')))
      const scopes = new Set(isAdmin ? ['admin'] : [])
      const streamIds = limit && new Set(limit)
      const principal = { tokenId: 1, owner, scopes, streamIds } as unknown as Principal
      const isOwn = (id: number) => isAdmin || owner === (id % 2 === 0 ? 'ann' : 'bob')
      const wanted = sorted.filter((id) => isOwn(id) && (limit?.includes(id) ?? true))
      const found = await findStreams(all, principal)
      assert.deepEqual(
        found.map(({ streamId }) => streamId),
        wanted,
      )
      const paged: number[] = []
      for (let size = pageSize; size === pageSize; ) {
        const page = { after: paged.at(-1) ?? 0, limit: pageSize }
        const some = await listVisibleStreams(all, principal, page)
        paged.push(...some.map(({ streamId }) => streamId))
        size = some.length
      }
      assert.deepEqual(paged, wanted)
      const finder = {
        findStream: async (id: number) => (await all.findStreams([id as StreamId]))[0],
      }
      for (let id = 1; id <= 12; id++) {
        const isSeen = wanted.includes(id)
        const named = findStreams(all, principal, [String(id)])
        const one = findVisibleStream(finder, principal, String(id))
        for (const asked of [named, one]) {
          const outcome = await asked.then(
            () => true,
            (cause: IngestError) => cause.code !== 'not_found',
          )
          assert.equal(outcome, isSeen)
        }
      }
    },
  )
  await fc.assert(property)
})

test('more than READ_STREAMS_MAX streams are to be named', async () => {
  const count = (streams: number) =>
    findStreams(
      sourceOf(Array.from({ length: streams }, (_, at) => stream(at + 1, 'ann'))),
      asker('ann'),
    )
  assert.equal((await count(READ_STREAMS_MAX)).length, READ_STREAMS_MAX)
  await assert.rejects(count(READ_STREAMS_MAX + 1), /READ_STREAMS_MAX/)
})
