/**
 * Goal: what tails promise, and their bounds, without stores: each committed event once or a gap,
 * from the place a reader names, whoever commits; slow readers and a busy service cost gaps.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { IngestError } from '../../src/errors.ts'
import {
  TAIL_BEHIND_MS_MAX,
  TAIL_MATCH_EVENTS_MAX,
  TAIL_MS_MAX,
  TAIL_POLL_MS,
  TAIL_QUEUE_EVENTS_MAX,
  TAIL_RESUME_EVENTS_MAX,
  TAIL_RESUME_PAGE_EVENTS,
  TAIL_RIGHTS_MS,
  TAIL_WAITING_BYTES_MAX,
  TAIL_WAITING_SEGMENTS_MAX,
  TAILS_MAX,
  TAILS_PER_TOKEN_MAX,
} from '../../src/limits.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { TAIL_PING_MS, TAIL_WRITE_BYTES } from '../../src/tail/tail.ts'
import { tryParseCursor } from '../../src/tail/tail-cursor.ts'
import { waitFor } from '../http/raw-client.ts'
import { createHub, FakeStore, fakeMatch } from './hub-harness.ts'

const soon = () => sleep(20)

interface Texted {
  readonly text: string
}
const cursorOf = (id: string) => ({ kind: 'cursor', cursor: tryParseCursor(id)! }) as const

test('a tail nobody has costs nothing: nothing is copied, nothing polled', async () => {
  const store = new FakeStore()
  const { hub, commit } = createHub(store)
  commit(['a'])
  hub.mustCatchUp()
  commit(['b'])
  await sleep(TAIL_POLL_MS + 50)
  assert.deepEqual([store.polls, store.reads, hub.count], [0, 0, 0])
})

test('what matches comes once, of the stream, from now on', async () => {
  const store = new FakeStore()
  const { commit, open } = createHub(store)
  commit(['before'])
  const [all, some] = [open(), open('b')]
  await soon()
  commit(['a', 'b'])
  commit(['b of another'], 8 as StreamId)
  commit(['bb'])
  await soon()
  assert.deepEqual(all.writer.texts, ['a', 'b', 'bb'])
  assert.deepEqual(some.writer.texts, ['b', 'bb'])
  assert.equal(store.reads, 0, 'from memory')
  await all.stop()
  await some.stop()
})

test('another node is polled, and this one when it was not told', async () => {
  const store = new FakeStore()
  const { hub, commit, open } = createHub(store)
  const { writer, stop } = open()
  await soon()
  store.commit(2, ['other'])
  await waitFor(() => writer.texts.length === 1, 'the other node')
  store.commit(1, ['untold'])
  hub.mustCatchUp()
  commit(['told'])
  await waitFor(() => writer.texts.length === 3, 'both')
  assert.deepEqual(writer.texts, ['other', 'untold', 'told'])
  await sleep(TAIL_POLL_MS * 2)
  commit(['then'])
  await waitFor(() => writer.texts.length === 4, 'the next')
  assert.equal(writer.texts.at(-1), 'then')
  await stop()
})

test('from every id that a reader has it goes on: nothing twice, nothing missing', async () => {
  const store = new FakeStore()
  const { commit, open } = createHub(store)
  const first = open()
  await soon()
  for (let i = 0; i < 6; i++) {
    commit([`own ${i}`, `own ${i} too`])
    store.commit(2, [`other ${i}`])
    await sleep(i % 2 === 0 ? TAIL_POLL_MS + 60 : 1)
  }
  await waitFor(() => first.writer.texts.length === 18, 'all')
  await first.stop()
  const { messages } = first.writer
  for (const [index, { id }] of messages.entries()) {
    const again = open('', { start: cursorOf(id) })
    const seen = messages.slice(0, index + 1).map(({ data }) => data.text)
    await waitFor(() => again.writer.texts.length === 18 - seen.length, `after ${index}`)
    assert.deepEqual([...seen, ...again.writer.texts].sort(), [...first.writer.texts].sort())
    await again.stop()
  }
})

test('a time and an event are places to begin, and what is too far back is a gap', async () => {
  const store = new FakeStore()
  const { commit, open, left } = createHub(store)
  const many = Array.from({ length: TAIL_RESUME_PAGE_EVENTS }, (_, i) => `${i}`)
  const pages = TAIL_RESUME_EVENTS_MAX / TAIL_RESUME_PAGE_EVENTS + 2
  const ids = Array.from({ length: pages }, () => commit(many))
  const all = open('', { start: { kind: 'time', ms: 0 } })
  await waitFor(() => all.writer.texts.length === TAIL_RESUME_EVENTS_MAX, 'the newest')
  assert.equal(all.writer.messages[0]!.event, 'gap')
  assert.equal(all.writer.messages[0]!.data.reason, 'too_far_back')
  assert.deepEqual(left, [['too_far_back', 2 * TAIL_RESUME_PAGE_EVENTS]])
  await all.stop()
  const event = { segmentId: ids.at(-2)!, ordinal: TAIL_RESUME_PAGE_EVENTS - 3 }
  const last = open('', { start: { kind: 'event', event } })
  await waitFor(() => last.writer.texts.length === TAIL_RESUME_PAGE_EVENTS + 2, 'two and a page')
  commit(['then'])
  await waitFor(() => last.writer.texts.at(-1) === 'then', 'what comes')
  await last.stop()
})

test('who takes nothing loses the oldest, and is told how many and when', async () => {
  const store = new FakeStore()
  const { commit, open, left } = createHub(store)
  const { writer, stop } = open()
  await soon()
  writer.takes = false
  commit(['first'])
  await soon()
  const texts = Array.from({ length: TAIL_QUEUE_EVENTS_MAX + 30 }, (_, i) => `${i}`)
  commit(texts)
  await soon()
  assert.deepEqual(writer.texts, ['first'])
  writer.take()
  await waitFor(() => writer.texts.length === 1 + TAIL_QUEUE_EVENTS_MAX, 'the newest')
  const gap = writer.messages[1]!
  assert.equal(gap.event, 'gap')
  assert.deepEqual(
    { dropped: gap.data.dropped, exact: gap.data.exact, reason: gap.data.reason },
    { dropped: 30, exact: true, reason: 'slow_reader' },
  )
  assert.deepEqual(left, [['slow_reader', 30]])
  assert.deepEqual(writer.texts.slice(1), texts.slice(30))
  await stop()
})

test('what waits for too long, or is too much, becomes a gap', async () => {
  const store = new FakeStore()
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let tasks = 0
  const largest: number[] = []
  const { commit, open, left } = createHub(store, {
    matchNow: async (task) => {
      largest.push(task.reads.reduce((sum, { toOrdinal }) => sum + toOrdinal, 0))
      if (tasks++ === 0) await held
      return fakeMatch(task)
    },
  })
  const { writer, stop } = open('last')
  await soon()
  commit(['held'])
  await soon()
  const large = 'x'.repeat(TAIL_WAITING_BYTES_MAX / 4)
  for (let i = 0; i < 6; i++) commit([large])
  for (let i = 0; i <= TAIL_WAITING_SEGMENTS_MAX; i++) commit(['small'])
  for (let i = 0; i < 30; i++) commit(Array.from({ length: 500 }, () => 'events'))
  commit(['last'])
  release()
  await waitFor(() => writer.texts.length === 1, 'the last', 20_000)
  assert.ok(left.length > 0 && left.every(([reason]) => reason === 'busy'))
  assert.ok(Math.max(...largest) <= TAIL_MATCH_EVENTS_MAX)
  await stop()
})

test('after TAIL_BEHIND_MS_MAX what waits is not looked at', async () => {
  const store = new FakeStore()
  let tasks = 0
  const { commit, open, left } = createHub(store, {
    matchNow: async (task) => {
      if (tasks++ === 0) await sleep(TAIL_BEHIND_MS_MAX + 200)
      return fakeMatch(task)
    },
  })
  const { writer, stop } = open()
  await soon()
  commit(['slow'])
  await soon()
  commit(['late'])
  await sleep(TAIL_BEHIND_MS_MAX + 300)
  commit(['fresh'])
  await waitFor(() => writer.texts.length === 2, 'the others')
  assert.deepEqual(writer.texts, ['slow', 'fresh'])
  assert.deepEqual(left, [['busy', 1]])
  await stop()
})

test('a task that fails is a gap, and the tail goes on', async () => {
  const store = new FakeStore()
  let tasks = 0
  const { commit, open, left, errors } = createHub(store, {
    matchNow: (task) => (tasks++ === 0 ? Promise.reject(new Error('died')) : fakeMatch(task)),
  })
  const { writer, stop } = open()
  await soon()
  commit(['a', 'b'])
  await soon()
  commit(['c'])
  await soon()
  assert.deepEqual(writer.texts, ['c'])
  assert.deepEqual(left, [['busy', 2]])
  assert.equal(errors.length, 1)
  await stop()
})

test('a node has TAILS_MAX tails, a token TAILS_PER_TOKEN_MAX; an end makes room', async () => {
  const { hub, open } = createHub(new FakeStore())
  const all = []
  for (let i = 0; i < TAILS_MAX; i++) {
    const tokenId = Math.floor(i / TAILS_PER_TOKEN_MAX)
    if (i === TAILS_PER_TOKEN_MAX) {
      assert.throws(() => hub.assertRoom(0), /8 live tails \(TAILS_PER_TOKEN_MAX\) open/)
    }
    all.push(open('', { tokenId }))
  }
  await soon()
  assert.throws(() => hub.assertRoom(99), /64 live tails are open \(TAILS_MAX\)/)
  await all[0]!.stop()
  hub.assertRoom(99)
  for (const { stop } of all) await stop()
  assert.equal(hub.count, 0)
})

test('rights are looked at: the token, the stream; while nobody can tell it goes on', async () => {
  let deleted: readonly number[] = []
  let isAway = false
  const { commit, open } = createHub(new FakeStore(), {
    findStreams: async (ids) => {
      if (isAway) throw new Error('away')
      return ids.flatMap((streamId) => {
        return deleted.includes(streamId) ? [] : [{ streamId, textFields: [] } as never]
      })
    },
  })
  let refusal: IngestError | undefined
  const renew = async () => {
    if (refusal !== undefined) throw refusal
  }
  const [one, two] = [open('', { renew }), open()]
  isAway = true
  refusal = new IngestError('unavailable', 'away')
  await sleep(TAIL_RIGHTS_MS * 3)
  commit(['goes on'])
  await soon()
  assert.deepEqual(one.writer.texts, ['goes on'])
  isAway = false
  refusal = new IngestError('unauthenticated', 'revoked')
  await one.running
  assert.deepEqual(one.writer.messages.at(-1)!.data, { reason: 'token_not_valid' })
  deleted = [7]
  two.writer.takes = false
  commit(['not taken'])
  await two.running
  assert.ok(two.writer.isOver || two.writer.messages.at(-1)!.data.reason === 'stream_deleted')
})

test('a sample is what comes until its signal, gaps too', async () => {
  const { hub, commit } = createHub(new FakeStore(), {
    matchNow: (task) =>
      task.reads.length === 2 ? Promise.reject(new Error('died')) : fakeMatch(task),
  })
  const over = new AbortController()
  const seen: string[] = []
  const stream = { streamId: 7, textFields: [] } as never
  const asked = { stream, query: 'x', limitPerS: undefined, tokenId: 1, renew: async () => 0 }
  const running = hub.sample(
    asked,
    (item) => {
      const isGap = item.kind === 'gap'
      const text = isGap ? '' : (JSON.parse(Buffer.from(item.record).toString()) as Texted).text
      seen.push(isGap ? `gap of ${item.events}` : text)
    },
    over.signal,
  )
  await soon()
  commit(['x1', 'y', 'x2'])
  await soon()
  commit(['x3'])
  commit(['x4'])
  await soon()
  commit(['x5'])
  await soon()
  assert.equal(hub.count, 1)
  over.abort()
  await running
  assert.deepEqual(seen, ['x1', 'x2', 'gap of 2', 'x5'])
  assert.equal(hub.count, 0)
})

test('what waits for a reader who may not see it any more does not count as sent', async () => {
  let sent = 0
  const observer = { onEvents: (count: number) => (sent += count), onGap: () => undefined }
  const { commit, open } = createHub(new FakeStore(), { observer })
  let isRevoked = false
  const renew = async () => {
    if (isRevoked) throw new IngestError('unauthenticated', 'revoked')
  }
  const { writer, running } = open('', { renew })
  await soon()
  writer.takes = false
  commit(['sent'])
  await soon()
  commit(['waits'])
  isRevoked = true
  await sleep(TAIL_RIGHTS_MS + 100)
  writer.take()
  await running
  assert.deepEqual(writer.texts, ['sent'])
  assert.deepEqual(writer.messages.at(-1)!.data, { reason: 'token_not_valid' })
  assert.equal(sent, 1)
})

test('a stop is told; TAIL_MS_MAX ends; a silent reader is pinged with its place', async (t) => {
  const store = new FakeStore()
  const { hub, commit, open } = createHub(store)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const one = open('x')
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const startedAt = performance.now()
  const now = t.mock.method(performance, 'now', () => startedAt + passed)
  let passed = 0
  await turn()
  commit(['no match'])
  for (let i = 0; i < 5; i++) await turn()
  passed = TAIL_PING_MS + 1
  t.mock.timers.tick(passed)
  for (let i = 0; i < 5; i++) await turn()
  const [, cursor = ''] = /: ping\nid: (.+)\n\n/.exec(one.writer.text) ?? []
  assert.ok(tryParseCursor(cursor) !== undefined, one.writer.text)
  t.mock.timers.tick(TAIL_MS_MAX)
  await one.running
  assert.deepEqual(one.writer.messages, [{ event: 'end', id: '', data: { reason: 'time_is_up' } }])
  now.mock.restore()
  t.mock.timers.reset()
  const two = open()
  await soon()
  commit(['x'.repeat(TAIL_WRITE_BYTES), 'small'])
  await hub.stop()
  await two.running
  assert.equal(two.writer.texts.length, 2)
  assert.deepEqual(two.writer.messages.at(-1)!.data, { reason: 'stopping' })
  assert.throws(() => hub.assertRoom(1), /stopping/)
})
