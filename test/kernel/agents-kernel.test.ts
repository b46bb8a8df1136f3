/**
 * Goal: the kernel that adds what is known of user agents writes what the long way writes, text and
 * tape. Method: generated batches against the same events one by one: the first change of a batch
 * always goes the long way. The harness compares each event's tape with its text.
 */
import './checked-kernels.ts'

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { USER_AGENT_BYTES_MAX } from '../../src/limits.ts'
import { heldBytes } from '../../workers/kernel/arena-copy.ts'
import { kernels } from '../../workers/kernel/kernels.ts'
import { UserAgents } from '../../workers/transform/agents/user-agent.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { AGENTS, transformed, Worker } from '../transform/transform-harness.ts'

const FUZZ_MS = 1_500
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const FIREFOX = 'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0'
const STRINGS = [
  FIREFOX,
  'curl/8.5.0',
  'okhttp/5.0.19',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0.0.0 Safari/537.36',
  '',
  'a "quoted" one, Firefox/1.0',
  `${FIREFOX}${' and more'.repeat(USER_AGENT_BYTES_MAX / 9)}`,
  `${FIREFOX.padEnd(USER_AGENT_BYTES_MAX, '.')}x`,
]

/** Around the field: values of every kind, arrays with objects before and behind it among them. */
function around(random: Random): object {
  const values = [1, -2.5, 'text', 'é\n', null, true, [], {}, [1, 'a'], { b: { c: 'd' } }]
  const lists = [
    [{ a: [{ b: 1 }] }, 'x', { a: 2 }],
    [[{}], [null]],
  ]
  return {
    [`k${random.below(4)}`]: random.pick(values),
    [`l${random.below(2)}`]: random.pick(lists),
  }
}

function randomEvent(random: Random): string {
  const agent = random.pick(STRINGS)
  const field = random.pick([
    { ua: agent },
    { http: { user_agent: agent, z: 1 } },
    { 'http.ua': agent },
    { user_agent: { original: agent } },
  ])
  const odd: object[] = [
    {},
    { ua: 7 },
    { ua: agent, agent },
    { ua: agent, ua_parsed: {} },
    { list: [{ ua: agent }] },
    { fresh: { [`k${random.below(1_000)}`]: 1 }, ua: agent },
  ]
  const chosen = random.below(8) === 0 ? random.pick(odd) : field
  return JSON.stringify({ ...around(random), ...chosen, ...around(random) })
}

test('a batch is what its events are one by one', () => {
  let round = seed
  const [worker, other] = [new Worker(), new Worker()]
  forMilliseconds(FUZZ_MS, () => {
    const random = new Random(++round)
    const lines = Array.from({ length: 30 }, () => randomEvent(random))
    const { texts } = worker.run(lines, AGENTS, { receivedAtMs: round * 1_000 })
    const alone = lines.map((line) => other.run([line], AGENTS).texts[0])
    assert.deepEqual(texts, alone, `round ${round}`)
  })
})

test('what is known goes by the kernel: of a batch, the first change does not', () => {
  const worker = new Worker()
  const lines = Array.from({ length: 100 }, (_, i) =>
    JSON.stringify({ n: i, http: { user_agent: STRINGS[i % 4], status: 200 }, list: [{ a: i }] }),
  )
  worker.run(lines, AGENTS)
  const lookUp = mock.method(UserAgents.prototype, 'lookUp')
  try {
    const { texts, batch } = worker.run(lines, AGENTS)
    assert.deepEqual(
      texts,
      lines.map((line) => transformed(line, AGENTS)),
    )
    assert.deepEqual([batch.userAgentHits, batch.userAgentMisses], [lines.length, 0])
    const ofThisBatch = lookUp.mock.callCount() - lines.length
    assert(ofThisBatch <= 3, `${ofThisBatch} strings went the long way`)
  } finally {
    lookUp.mock.restore()
  }
})

test('strings that differ in one place are spread over the table', () => {
  const sets = 8_192
  const ofEach = 1_000
  const shapes = [
    (i: number) => `okhttp/5.0.${i}`,
    (i: number) => `${i} curl, and more`,
    (i: number) => `Mozilla/5.0 (X11; rv:${i}.0) Gecko/20100101 Firefox/132.0`,
    (i: number) => FIREFOX.replace('132.0', `${i}`),
  ]
  for (const shape of shapes) {
    const seen = new Set<number>()
    for (let i = 0; i < ofEach; i++) {
      const text = heldBytes(Buffer.from(shape(i)))
      seen.add(kernels.hashText(text.byteOffset, text.length) & (sets - 1))
    }
    // By chance, 1,000 of 8,192 fall into 941 different ones.
    assert(seen.size > 900, `${shape(0)}: ${seen.size} sets`)
  }
})
