/**
 * Goal: nothing is committed for a key that was revoked during its request, and requests that share
 * a batch with it are not affected. Every buffer comes back.
 * Method: as in `batcher.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unauthenticated } from '../../../src/accept/admission/authenticate.ts'
import { bytes, setUp, stream, turn, wholePart } from './batcher-harness.ts'

interface Key {
  isLive: boolean
  /** The node has heard of a change that may have been about the key. */
  isInDoubt: boolean
  asked: number
}

const newKey = (): Key => ({ isLive: true, isInDoubt: false, asked: 0 })

const clientOf = (key: Key) => ({
  isOver: false,
  get isAdmitted() {
    return !key.isInDoubt
  },
  async confirm() {
    key.asked++
    if (!key.isLive) throw unauthenticated()
    key.isInDoubt = false
  },
})

function submitter({ batcher }: ReturnType<typeof setUp>) {
  return (id: number, text: string, key: Key) => {
    return batcher.submitShared(
      stream(id),
      wholePart('ndjson', bytes(text)),
      undefined,
      clientOf(key),
    )
  }
}

test('a live key is not looked up; a doubtful one is, and its request continues', async () => {
  const harness = setUp()
  const { pool, commits, buffers } = harness
  const submit = submitter(harness)
  const [sure, doubtful] = [newKey(), newKey()]
  const placed = [submit(1, '{"a":1}', sure), submit(1, '{"a":2}', doubtful)]
  await turn()
  doubtful.isInDoubt = true
  pool.work()
  await turn()
  assert.deepEqual(commits[0]?.texts, ['{"a":1}\n{"a":2}\n'])
  commits[0]?.resolve()
  await Promise.all(placed)
  assert.deepEqual([sure.asked, doubtful.asked], [0, 1])
  assert.equal(buffers.out.size, 2, 'block and payload')
})

for (const isMixed of [false, true]) {
  const what = isMixed ? 'several streams' : 'one stream'
  test(`a revoked key's part leaves a batch of ${what}; the others go once more`, async () => {
    const harness = setUp(() => !isMixed)
    const { pool, commits, buffers } = harness
    const submit = submitter(harness)
    const [live, revoked] = [newKey(), newKey()]
    const ids = isMixed ? ([2, 3, 4] as const) : ([1, 1, 1] as const)
    const first = submit(ids[0], '{"a":1}', live)
    const lost = submit(ids[1], '{"secret":2}', revoked)
    const last = submit(ids[2], '{"a":3}\n{"bad', live)
    lost.catch(() => undefined)
    await turn()
    revoked.isInDoubt = true
    revoked.isLive = false
    assert.equal(pool.tasks.length, 1)
    pool.work()
    await turn()
    assert.equal(commits.length, 0)
    await assert.rejects(lost, /credential/)
    pool.work()
    await turn()
    const texts = commits.flatMap((commit) => commit.texts).join('')
    assert.match(texts, /"a":1.*"a":3/s)
    assert.doesNotMatch(texts, /secret/)
    for (const commit of commits) commit.resolve()
    const placed = [await first, await last]
    assert.deepEqual(
      placed.map(({ result }) => [result.accepted, result.rejected]),
      [
        [1, 0],
        [1, 1],
      ],
    )
    assert.equal(buffers.out.size, 2, 'block and payload')
  })
}

test('a batch with only revoked keys ends there', async () => {
  const harness = setUp()
  const { pool, commits, buffers } = harness
  const revoked = newKey()
  const lost = submitter(harness)(1, '{"a":1}', revoked)
  lost.catch(() => undefined)
  await turn()
  revoked.isInDoubt = true
  revoked.isLive = false
  pool.work()
  await turn()
  await assert.rejects(lost, /credential/)
  assert.deepEqual([pool.tasks.length, commits.length, buffers.out.size], [0, 0, 0])
})
