/**
 * Goal: below a closing mark nothing becomes visible any more, whatever commits do: transactions
 * that are held open, fail, are of unknown outcome, or are found out about much later.
 * Method: a committer over a fake raw store that a random schedule answers; each mark that is read
 * is compared with all that becomes visible after it. Seeds are printed by fast-check.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ClosingMark } from '../../src/commit/closing-mark.ts'
import { Committer, type WriteFailure } from '../../src/commit/committer.ts'
import { IngestError } from '../../src/errors.ts'
import { CLOCK_LEAD_MS_MAX } from '../../src/limits.ts'
import { type SegmentId, SegmentIdGenerator, segmentIdMs } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { rounds } from '../support/fuzzing.ts'
import { virtualTime } from '../support/virtual-time.ts'
import { someSegment } from './some-segments.ts'

const STREAM = 1 as StreamId
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Two clocks, and a committer of which each transaction waits for what the test makes of it. */
class Node {
  nowMs = 1_000_000
  storeMs = 1_000_000
  isAway = false
  readonly visible: SegmentId[] = []
  readonly mark: ClosingMark
  readonly committer: Committer
  /** Transactions under way, the oldest first. */
  readonly open: ((failure: WriteFailure | undefined) => void)[] = []
  /** Of unknown outcome: each becomes visible, or never, when it is decided. */
  readonly unknown: { readonly id: SegmentId; isOver: boolean; isThere: boolean }[] = []

  constructor(resolveMsMax: number) {
    const latestMs = () => this.storeMs + CLOCK_LEAD_MS_MAX
    const ids = new SegmentIdGenerator(3, () => this.nowMs, undefined, latestMs)
    this.mark = new ClosingMark(ids, this, { lagMsMax: CLOCK_LEAD_MS_MAX })
    this.committer = new Committer({
      store: {
        write: async ([row]) => {
          const id = row!.segmentId
          const failure = await new Promise<WriteFailure | undefined>((resolve) => {
            this.open.push(resolve)
          })
          if (failure === undefined) this.visible.push(id)
          if (failure?.kind === 'unknown') this.unknown.push({ id, isOver: false, isThere: false })
          return failure
        },
        wasCommitted: async ({ segmentId }) => {
          const tried = this.unknown.filter(({ id }) => id === segmentId)
          if (this.isAway || tried.some(({ isOver }) => !isOver)) throw new Error('away')
          return tried.some(({ isThere }) => isThere)
        },
      },
      ids,
      closing: this.mark,
      forward: () => undefined,
      observer: { onGroup: () => {}, onRetry: () => {}, onUnknown: () => {} },
      resolveMsMax,
    })
  }

  /** The transaction is over on the server, one way or the other. */
  end(isThere: boolean): void {
    const next = this.unknown.find(({ isOver }) => !isOver)
    if (next === undefined) return
    next.isOver = true
    next.isThere = isThere
    if (isThere) this.visible.push(next.id)
  }
}

const UNKNOWN: WriteFailure = { kind: 'unknown', message: 'lost' }
const REFUSED: WriteFailure = { kind: 'refused', error: new IngestError('unavailable', 'no') }
const RETRY: WriteFailure = { kind: 'retry', message: 'away' }
const STEPS = [
  ...['submit', 'commit', 'commit', 'read', 'read', 'submit'],
  ...['refuse', 'retry', 'lose', 'there', 'absent', 'away', 'wait'],
]

test('nothing becomes visible below a mark that was read', async (t) => {
  const time = virtualTime(t)
  const step = fc.record({
    kind: fc.constantFrom(...STEPS),
    clockMs: fc.oneof(fc.integer({ min: -3_600_000, max: 3_600_000 }), fc.constant(100)),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), async (steps) => {
      const node = new Node(500)
      let markMs = 0
      let seen = 0
      for (const { kind, clockMs } of steps) {
        node.storeMs += 100
        node.nowMs = Math.max(0, node.storeMs + (clockMs === 100 ? 0 : clockMs))
        if (kind === 'submit') node.committer.submit(STREAM, [someSegment()]).catch(() => {})
        else if (kind === 'commit') node.open.shift()?.(undefined)
        else if (kind === 'refuse') node.open.shift()?.(REFUSED)
        else if (kind === 'retry') node.open.shift()?.(RETRY)
        else if (kind === 'lose') node.open.shift()?.(UNKNOWN)
        else if (kind === 'there' || kind === 'absent') node.end(kind === 'there')
        else if (kind === 'away') node.isAway = !node.isAway
        else if (kind === 'wait') await time.pass(600)
        await turn()
        for (const id of node.visible.slice(seen)) {
          assert.ok(segmentIdMs(id) >= markMs, `${segmentIdMs(id)} came below ${markMs}`)
        }
        seen = node.visible.length
        if (kind !== 'read') continue
        const next = node.mark.read()
        assert.ok(next >= markMs, 'it never falls')
        markMs = next
      }
    }),
    { numRuns: rounds(15) },
  )
})

test('held down by a group under way, and by an unknown one until it is over', async (t) => {
  const time = virtualTime(t)
  const node = new Node(500)
  assert.equal(node.mark.read(), 1_000_000)
  const failed = assert.rejects(node.committer.submit(STREAM, [someSegment()]))
  await turn()
  node.storeMs = node.nowMs = 1_005_000
  assert.equal(node.mark.read(), 1_000_000, 'its id was given out before')
  node.open.shift()!(UNKNOWN)
  await time.pass(1_500)
  await failed
  node.storeMs = node.nowMs = 1_010_000
  assert.equal(node.mark.read(), 1_000_000, 'its clients gave up, it may come all the same')
  assert.equal(node.mark.isSettled, false)
  node.end(true)
  await time.pass(2_000)
  assert.equal(node.mark.read(), 1_010_000)
  await node.committer.stop()
  assert.ok(node.committer.isOver)
})

test('what is given up at a stop is not called over', async (t) => {
  const time = virtualTime(t)
  const node = new Node(500)
  const failed = assert.rejects(node.committer.submit(STREAM, [someSegment()]))
  await turn()
  node.open.shift()!(UNKNOWN)
  await time.pass(1_500)
  await failed
  await node.committer.stop()
  assert.equal(node.committer.isOver, false)
})

test('a clock that is behind is waited for a minute, one that is ahead moves no id', () => {
  const node = new Node(500)
  node.nowMs = node.storeMs - CLOCK_LEAD_MS_MAX + 1
  assert.equal(node.mark.read(), node.nowMs)
  node.nowMs = node.storeMs - 3_600_000
  node.storeMs += 10
  assert.equal(node.mark.read(), node.storeMs - CLOCK_LEAD_MS_MAX)
  node.nowMs = node.storeMs + CLOCK_LEAD_MS_MAX
  assert.equal(node.mark.read(), node.storeMs, 'never of the future')
  const last = node.storeMs
  node.storeMs += 1_000
  node.nowMs = node.storeMs + CLOCK_LEAD_MS_MAX + 1
  assert.equal(node.mark.read(), last, 'nothing is committed, and its time is wrong')
})
