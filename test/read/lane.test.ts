/**
 * Goal: a lane runs no more than its places, refuses past its line and its wait, and gives turns by
 * who asks. Method: work that ends when the test says so.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { IngestError } from '../../src/errors.ts'
import { Lane, type LaneBounds } from '../../src/read/lane.ts'

const NEVER = new AbortController().signal

function startLane(bounds: Partial<LaneBounds> = {}) {
  const lane = new Lane({
    name: 'reads',
    places: () => 1,
    waitingMax: 4,
    waitMsMax: 5_000,
    ...bounds,
  })
  const ended: string[] = []
  const ends = new Map<string, () => void>()
  /** Work of `asker`; resolves with its name or the text of its refusal. */
  const ask = (asker: number, name: string, signal = NEVER): Promise<string> => {
    const work = () => new Promise<void>((resolve) => ends.set(name, resolve))
    return lane.run(asker, signal, work).then(
      () => {
        ended.push(name)
        return name
      },
      (cause: unknown) => {
        assert.ok(cause instanceof IngestError)
        assert.equal(cause.code, 'overloaded')
        assert.ok((cause.retryAfterSeconds ?? 0) > 0)
        return cause.message
      },
    )
  }
  const end = async (name: string) => {
    ends.get(name)?.()
    await sleep(1)
  }
  return { lane, ask, end, ended, started: () => [...ends.keys()] }
}

test('as much runs as there are places, the rest waits in order', async () => {
  const { lane, ask, end, started } = startLane({ places: () => 2 })
  const all = ['a', 'b', 'c', 'd'].map((name) => ask(1, name))
  assert.deepEqual([lane.running, lane.waiting, started()], [2, 2, ['a', 'b']])
  await end('b')
  assert.deepEqual([lane.running, lane.waiting, started()], [2, 1, ['a', 'b', 'c']])
  for (const name of ['a', 'c', 'd']) await end(name)
  await Promise.all(all)
  assert.deepEqual([lane.running, lane.waiting, lane.refused], [0, 0, { full: 0, late: 0 }])
})

test('work that fails gives its place back', async () => {
  const { lane } = startLane()
  const fail = () => Promise.reject(new Error('no'))
  for (let i = 0; i < 3; i++) await assert.rejects(lane.run(1, NEVER, fail), /no/)
  assert.equal(lane.running, 0)
})

test('who waits gets the places that are there later', async () => {
  let places = 1
  const { lane, ask, end, started } = startLane({ places: () => places })
  const all = ['a', 'b', 'c', 'd'].map((name) => ask(1, name))
  places = 3
  await sleep(250)
  assert.deepEqual([lane.running, lane.waiting, started()], [3, 1, ['a', 'b', 'c']])
  places = 1
  for (const name of ['a', 'b']) await end(name)
  assert.deepEqual([lane.running, lane.waiting], [1, 1], 'what runs goes on, no more than that')
  for (const name of ['c', 'd']) await end(name)
  await Promise.all(all)
  assert.deepEqual([lane.running, lane.waiting], [0, 0])
})

test('who waits too long is refused', async () => {
  const { lane, ask, end, ended } = startLane({ waitMsMax: 20 })
  const first = ask(1, 'first')
  assert.match(await ask(1, 'second'), /1 reads are running and none ended within 20 ms/)
  await end('first')
  await first
  assert.deepEqual([ended, lane.refused, lane.waiting], [['first'], { full: 0, late: 1 }, 0])
})

test('turns go round by who asks', async () => {
  const { ask, end, started } = startLane()
  const all = [ask(1, 'a1'), ask(1, 'a2'), ask(1, 'a3'), ask(2, 'b1'), ask(3, 'c1')]
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3']) await end(name)
  assert.deepEqual(started(), ['a1', 'a2', 'b1', 'c1', 'a3'])
  await Promise.all(all)
})

test('a full line makes room for who has less in it', async () => {
  const { lane, ask, end, ended } = startLane()
  const many = [ask(1, 'a0'), ...['a1', 'a2', 'a3', 'a4'].map((name) => ask(1, name))]
  assert.match(await ask(1, 'a5'), /4 more wait/, 'its own line is the longest')
  const others = [ask(2, 'b1'), ask(3, 'c1')]
  assert.match(await many[4]!, /4 more wait/, 'the newest went first')
  assert.match(await many[3]!, /4 more wait/)
  assert.match(await ask(2, 'b2'), /4 more wait/, 'it would have as many as the others')
  for (const name of ['a0', 'a1', 'b1', 'c1', 'a2']) await end(name)
  await Promise.all([...many, ...others])
  assert.deepEqual(ended.sort(), ['a0', 'a1', 'a2', 'b1', 'c1'])
  assert.deepEqual(lane.refused, { full: 4, late: 0 })
})

test('who went away leaves the line', async () => {
  const { lane, ask, end, started } = startLane()
  const gone = new AbortController()
  const all = [ask(1, 'a'), ask(2, 'b', gone.signal), ask(3, 'c')]
  gone.abort()
  assert.match(await all[1]!, /went away/)
  await end('a')
  assert.deepEqual([started(), lane.waiting], [['a', 'c'], 0])
  await end('c')
  await Promise.all(all)
  assert.deepEqual(lane.refused, { full: 0, late: 0 }, 'nobody was told so')
})
