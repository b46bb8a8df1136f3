/**
 * Goal: nobody's tasks keep another's from a thread: what is alone waits for about one task of each
 * other stream, whatever they have given, and no lane starves; order holds within a stream.
 * Method: a clock and threads of the test's own, tasks given at random.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { IngestError } from '../../src/errors.ts'
import { POOL_QUEUE_REBUILDS_MAX, POOL_QUEUE_REVIEWS_MAX } from '../../src/limits.ts'
import {
  FairQueue,
  type LaneName,
  POOL_QUEUE_BATCHES_MAX,
  POOL_QUEUE_READS_MAX,
  POOL_QUEUE_TAILS_MAX,
  type QueueKey,
} from '../../src/pool/fair-queue.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

interface Task {
  readonly place: QueueKey
  readonly ms: number
  readonly givenAt: number
  startedAt: number
  endsAt: number
}

/** Threads whose tasks take the time that they say. */
class Simulation {
  readonly turns: FairQueue
  nowMs = 0
  readonly started: Task[] = []
  #running: Task[] = []

  constructor(threads: number) {
    this.turns = new FairQueue(threads)
  }

  give(lane: LaneName, of: number, ms: number): Task {
    const place = { lane, of }
    const task: Task = { place, ms, givenAt: this.nowMs, startedAt: -1, endsAt: -1 }
    const wait = this.turns.take(place)
    if (wait === undefined) this.#start(task)
    else void wait.then(() => this.#start(task))
    return task
  }

  /** Ends the task that is due first. False when none runs. */
  async step(): Promise<boolean> {
    const next = this.#running.reduce<Task | undefined>((first, task) => {
      return first === undefined || task.endsAt < first.endsAt ? task : first
    }, undefined)
    if (next === undefined) return false
    this.nowMs = next.endsAt
    this.#running = this.#running.filter((task) => task !== next)
    this.turns.give(next.place, next.ms)
    await Promise.resolve() // Those that wait are told.
    return true
  }

  async runAll(): Promise<void> {
    while (await this.step()) {
      // Until nothing runs any more.
    }
  }

  #start(task: Task): void {
    task.startedAt = this.nowMs
    task.endsAt = this.nowMs + task.ms
    this.#running.push(task)
    this.started.push(task)
  }
}

const refused = (limit: RegExp) => (error: unknown) => {
  assert(error instanceof IngestError)
  assert.equal(error.code, 'overloaded')
  assert.match(error.message, limit)
  return true
}

test('a stream alone waits for one task of each other stream at most', async () => {
  const tasks = fc.array(
    fc.record({ of: fc.integer({ min: 1, max: 6 }), ms: fc.integer({ min: 1, max: 50 }) }),
    { minLength: 1, maxLength: 120 },
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), tasks, async (threads, given) => {
      const simulation = new Simulation(threads)
      for (const { of, ms } of given) simulation.give('ingest', of, ms)
      const alone = simulation.give('ingest', 99, 1)
      const others = new Set(given.map(({ of }) => of)).size
      await simulation.runAll()
      // Those on threads end, then each other stream has a turn at most.
      const before = simulation.started.indexOf(alone)
      assert.ok(before <= threads + others, `${before} before it, of ${others} streams`)
      assert.equal(simulation.started.length, given.length + 1, 'all are done')
    }),
    fuzzed(seed, 200, 3_000),
  )
})

test("a stream's own tasks start in their order", async () => {
  const simulation = new Simulation(2)
  const given = Array.from({ length: 60 }, (_, i) => simulation.give('ingest', i % 3, 5))
  await simulation.runAll()
  for (const of of [0, 1, 2]) {
    const own = (task: Task) => task.place.of === of
    assert.deepEqual(simulation.started.filter(own), given.filter(own))
  }
})

test('a shared batch of small requests is next, however many streams have tasks', async () => {
  const simulation = new Simulation(2)
  for (let i = 0; i < 200; i++) simulation.give('ingest', i % 40, 100)
  await simulation.step()
  await simulation.step()
  for (let i = 0; i < 10; i++) {
    const small = simulation.give('small', 0, 1)
    await simulation.step()
    assert.ok(small.startedAt >= 0, 'it has the first thread that is free')
    await simulation.step()
    await simulation.step()
  }
})

test('lanes share the time of the threads, whatever their tasks take', async () => {
  const simulation = new Simulation(2)
  const lanes = { small: 20, ingest: 50, read: 120, review: 25, tail: 30, rebuild: 8 } as const
  for (const [lane, ms] of Object.entries(lanes)) {
    for (let i = 0; i < 200; i++) simulation.give(lane as LaneName, i, ms)
  }
  while (simulation.nowMs < 5_000) await simulation.step()
  const used = { small: 0, ingest: 0, read: 0, review: 0, tail: 0, rebuild: 0 }
  for (const { place, ms } of simulation.started) used[place.lane] += ms
  const all = Object.values(used).reduce((sum, ms) => sum + ms)
  const parts = { small: 4, ingest: 4, read: 2, review: 1, tail: 1, rebuild: 2 }
  for (const [lane, part] of Object.entries(parts)) {
    const share = part / 14
    const got = used[lane as LaneName] / all
    assert.ok(Math.abs(got - share) < 0.06, `${lane} got ${got} of the time, not ${share}`)
  }
})

test('a lane that was idle saves nothing up, and one that was busy is not held to it', async () => {
  const simulation = new Simulation(1)
  for (let i = 0; i < 100; i++) simulation.give('rebuild', 1, 50)
  while (simulation.nowMs < 4_000) await simulation.step()
  for (let i = 0; i < 100; i++) simulation.give('ingest', 2, 50)
  const from = simulation.started.length
  while (simulation.started.length < from + 12) await simulation.step()
  const rebuilds = simulation.started.slice(from).filter(({ place }) => place.lane === 'rebuild')
  assert.ok(rebuilds.length >= 3 && rebuilds.length <= 6, `${rebuilds.length} of 12`)
})

test('pages and reviews together leave a thread to others', () => {
  const simulation = new Simulation(3)
  for (let i = 0; i < 5; i++) simulation.give(i % 2 === 0 ? 'read' : 'review', i, 1_000)
  assert.deepEqual([simulation.started.length, simulation.turns.hasIdleThread], [2, true])
  const batch = simulation.give('ingest', 1, 1)
  assert.equal(batch.startedAt, 0)
  const one = new Simulation(1)
  one.give('read', 1, 1)
  assert.equal(one.started.length, 1, 'but the only thread there is')
})

for (const [lane, max, limit] of [
  ['ingest', POOL_QUEUE_BATCHES_MAX, /1024 .*POOL_QUEUE_BATCHES_MAX/],
  ['read', POOL_QUEUE_READS_MAX, /256 .*POOL_QUEUE_READS_MAX/],
  ['review', POOL_QUEUE_REVIEWS_MAX, /16 .*POOL_QUEUE_REVIEWS_MAX/],
  ['tail', POOL_QUEUE_TAILS_MAX, /4 .*POOL_QUEUE_TAILS_MAX/],
  ['rebuild', POOL_QUEUE_REBUILDS_MAX, /256 .*POOL_QUEUE_REBUILDS_MAX/],
] as const) {
  test(`${lane}: ${max} tasks, one more is refused, other lanes and newcomers are not`, () => {
    const simulation = new Simulation(2)
    const give = (of: number) => {
      simulation.turns.assertRoom({ lane, of })
      simulation.give(lane, of, 1)
    }
    for (let i = 0; i < max; i++) give(1)
    assert.throws(() => give(1), refused(limit))
    for (const other of ['small', 'ingest', 'read', 'review', 'rebuild'] as const) {
      if (other !== lane) simulation.turns.assertRoom({ lane: other, of: 1 })
    }
    for (let of = 2; of < max + 2; of++) give(of)
    assert.throws(() => give(max + 3), refused(limit), 'twice as many are the most')
  })
}

test('ingestLoad: the share of the time that events had lately', async () => {
  const turns = new FairQueue(2)
  assert.equal(turns.ingestLoad, 0)
  for (const lane of ['read', 'rebuild'] as const) {
    assert.equal(turns.take({ lane, of: 1 }), undefined, 'there is a place')
    turns.give({ lane, of: 1 }, 400)
  }
  assert.equal(turns.ingestLoad, 0, 'only events count')
  for (const lane of ['small', 'ingest'] as const) {
    assert.equal(turns.take({ lane, of: 1 }), undefined, 'there is a place')
    turns.give({ lane, of: 1 }, 400)
  }
  const load = turns.ingestLoad
  assert.ok(load > 0.3 && load <= 0.4, `${load}: 800 ms of two threads' second`)
  await sleep(700)
  const later = turns.ingestLoad
  assert.ok(later < load * 0.6 && later > 0, `${later}, after ${load}`)
})
