/**
 * Goal: over time no more than a budget gets through, and on each node its share; a client that
 * waits as long as Retry-After says gets in; a stream without a budget costs nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUDGET_BURST_MS, Budgets } from '../../../src/accept/admission/budgets.ts'
import { IngestError } from '../../../src/errors.ts'
import { BUDGET_STREAMS_MAX } from '../../../src/limits.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { createRandom } from '../../support/random.ts'

const BURST_S = BUDGET_BURST_MS / 1_000

function stream(rateBudget: number | null, byteBudget: number | null = null, streamId = 1) {
  return { streamId: streamId as StreamId, rateBudget, byteBudget }
}

function setup(options: { rateBudget?: number; byteBudget?: number } = {}) {
  const state = { nowMs: 1_000, nodes: 1 }
  const budgets = new Budgets({
    ...options,
    liveNodes: () => state.nodes,
    nowMs: () => state.nowMs,
  })
  /** Seconds to wait; undefined when the request gets in. */
  const refusal = (of: ReturnType<typeof stream>): number | undefined => {
    try {
      budgets.check(of)
      return undefined
    } catch (cause) {
      assert(cause instanceof IngestError && cause.code === 'rate_limited')
      return cause.retryAfterSeconds
    }
  }
  return { state, budgets, refusal }
}

test('a quiet stream may burst; past that, it waits until its debt is paid', () => {
  const { state, budgets, refusal } = setup()
  const one = stream(100)
  assert.equal(refusal(one), undefined)
  budgets.charge(one, { events: 100 * BURST_S })
  assert.equal(refusal(one), undefined, 'nothing owed')
  budgets.charge(one, { events: 250 })
  assert.equal(refusal(one), 3, 'two and a half seconds, rounded up')
  state.nowMs += 2_499
  assert.equal(refusal(one), 1)
  state.nowMs += 1
  assert.equal(refusal(one), undefined)
})

test('both budgets count, and the longer wait is reported', () => {
  const { budgets, refusal } = setup()
  const one = stream(10, 1_000)
  budgets.charge(one, { events: 10 * BURST_S + 10, bytes: 1_000 * BURST_S + 7_000 })
  assert.equal(refusal(one), 7)
  assert.throws(() => budgets.check(one), /byte_budget/)
})

test('streams without budgets use those of the instance, if there are any', () => {
  const none = setup()
  none.budgets.charge(stream(null), { events: 1e9, bytes: 1e12 })
  assert.equal(none.refusal(stream(null)), undefined)
  assert.equal(none.budgets.size, 0)
  const some = setup({ byteBudget: 10 })
  some.budgets.charge(stream(null), { events: 1e9, bytes: 10 * BURST_S + 20 })
  assert.equal(some.refusal(stream(null)), 2)
  assert.equal(some.refusal(stream(null, 100)), 1, 'its own is larger and pays sooner')
})

test('a changed or removed budget takes effect at once', () => {
  const { budgets, refusal } = setup()
  budgets.charge(stream(10), { events: 10 * BURST_S + 100 })
  assert.equal(refusal(stream(10)), 10)
  assert.equal(refusal(stream(50)), 2)
  assert.equal(refusal(stream(null)), undefined)
})

test('an overcharge is refunded, but never beyond the burst', () => {
  const { budgets, refusal } = setup()
  const one = stream(null, 100)
  budgets.charge(one, { bytes: 10_000 })
  assert(refusal(one)! > 90)
  budgets.charge(one, { bytes: -9_000 })
  assert.equal(refusal(one), 5)
  budgets.charge(one, { bytes: -1e9 })
  budgets.charge(one, { bytes: 100 * BURST_S + 100 })
  assert.equal(refusal(one), 1)
})

test('with random requests on two nodes, the budget gets through, no more and no less', (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const { state, budgets, refusal } = setup()
  const other = setup()
  state.nodes = 2
  other.state.nodes = 2
  const one = stream(1_000)
  let sent = 0
  const SECONDS = 600
  const endMs = state.nowMs + SECONDS * 1_000
  for (; state.nowMs < endMs; state.nowMs += next() * 200) {
    other.state.nowMs = state.nowMs
    for (const node of [{ budgets, refusal }, other]) {
      if (node.refusal(one) !== undefined) continue
      const events = Math.ceil(next() * 500)
      node.budgets.charge(one, { events })
      sent += events
    }
  }
  const perSecond = (sent - 1_000 * BURST_S) / SECONDS
  assert(perSecond > 980 && perSecond < 1_005, `${perSecond} events a second`)
})

test('Retry-After is true: a client that obeys it gets in, whatever it owes', (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  for (let round = 0; round < 2_000; round++) {
    const { state, budgets, refusal } = setup()
    const one = stream(Math.ceil(next() * 1e4), Math.ceil(next() * 1e7))
    budgets.charge(one, { events: next() * 1e6, bytes: next() * 1e8 })
    state.nowMs += next() * 1_000
    const seconds = refusal(one)
    if (seconds === undefined) continue
    state.nowMs += seconds * 1_000
    assert.equal(refusal(one), undefined)
  }
})

test('BUDGET_STREAMS_MAX streams are in memory; those in debt are forgotten last', () => {
  const { budgets, refusal } = setup()
  for (let id = 1; id <= BUDGET_STREAMS_MAX; id++) {
    budgets.charge(stream(10, null, id), { events: id === 7 ? 10 * BURST_S + 90 : 1 })
  }
  assert.equal(budgets.size, BUDGET_STREAMS_MAX)
  budgets.charge(stream(10, null, BUDGET_STREAMS_MAX + 1), { events: 1 })
  assert(budgets.size <= 2)
  assert.equal(refusal(stream(10, null, 7)), 9)
})
