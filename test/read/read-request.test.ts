/** Goal: requests to read mean what they say, and what is wrong in them is told with its repair. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkBody } from '../../src/api/check-value.ts'
import type { ObjectSchema } from '../../src/api/schema.ts'
import { IngestError } from '../../src/errors.ts'
import { problemReply } from '../../src/http/problem.ts'
import { formatTimeNs, honestMembers } from '../../src/read/answer-coverage.ts'
import { readQueryText, readRequest, readTimeRange } from '../../src/read/read-request.ts'
import { READ_PROPERTIES, STREAMS } from '../../src/read/schemas.ts'

const NOW_MS = Date.parse('2026-02-03T04:05:06.789Z')
const at = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const BODY: ObjectSchema = { type: 'object', properties: { ...READ_PROPERTIES, streams: STREAMS } }

function read(body: Readonly<Record<string, unknown>>) {
  checkBody(BODY, body)
  return readRequest(body, NOW_MS)
}

function failure(run: () => unknown): IngestError {
  try {
    run()
  } catch (cause) {
    if (cause instanceof IngestError) return cause
    throw cause
  }
  return assert.fail('nothing was refused')
}

test('the last hour of receipt is asked for by default, this millisecond included', () => {
  const { query, fromNs, toNs, timeBasis, timeoutMs } = read({})
  assert.equal(query.kind, 'all')
  assert.equal(toNs, at('2026-02-03T04:05:06.790Z'))
  assert.equal(fromNs, at('2026-02-03T03:05:06.790Z'))
  assert.equal(timeBasis, 'ingested_at')
  assert.equal(timeoutMs, 30_000)
  assert.deepEqual(readTimeRange({ to: 'now' }, NOW_MS), { fromNs, toNs })
})

test('times are RFC 3339, now, or so long before it', () => {
  const cases = [
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00Z'],
    ['2026-01-31T12:00:00+02:00', '2026-01-31T10:00:00Z'],
    ['-15m', '2026-02-03T03:50:06.789Z'],
    ['now-15m', '2026-02-03T03:50:06.789Z'],
    ['-30s', '2026-02-03T04:04:36.789Z'],
    ['-2h', '2026-02-03T02:05:06.789Z'],
    ['-1d', '2026-02-02T04:05:06.789Z'],
    ['-1w', '2026-01-27T04:05:06.789Z'],
  ] as const
  for (const [from, expected] of cases) assert.equal(read({ from }).fromNs, at(expected), from)
  assert.equal(read({ from: '-2h', to: '-1h' }).toNs, at('2026-02-03T03:05:06.789Z'))
  assert.equal(read({ from: '2026-01-31T12:00:00.123456789Z' }).fromNs % 1_000_000n, 456_789n)
})

test('an epoch number is refused with the time that it would be', () => {
  const cases = [
    [1_769_860_800, '2026-01-31T12:00:00.000Z'],
    [1_769_860_800_000, '2026-01-31T12:00:00.000Z'],
    [1_769_860_800_000_000, '2026-01-31T12:00:00.000Z'],
    [1_769_860_800_000_000_000, '2026-01-31T12:00:00.000Z'],
    ['1769860800', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00Z'],
    ['2026-01-31T12:00:00', '2026-01-31T12:00:00Z'],
  ] as const
  for (const [from, repair] of cases) {
    const { code, message } = failure(() => read({ from }))
    assert.equal(code, 'malformed')
    assert.ok(message.startsWith('"from" must be an RFC 3339 time such as "'), message)
    assert.ok(message.includes(`; write "${repair}"`), message)
  }
})

test('what is no time is refused, whatever it is', () => {
  const texts = ['', '15m', '-15', '-15y', '+15m', 'now+15m', '--15m', '-1e3m', 'yesterday', ' now']
  for (const from of [...texts, null, true, {}, [], 1e300]) {
    const { code, message } = failure(() => read({ from }))
    assert.equal(code, 'malformed')
    assert.match(message, /^"from" must be an RFC 3339 time/)
  }
  fc.assert(
    fc.property(fc.anything(), (to) => {
      if (to === 'now' || to === undefined) return
      assert.equal(failure(() => readTimeRange({ to }, NOW_MS)).code, 'malformed')
    }),
  )
  assert.match(failure(() => read({ from: 'now', to: '-1h' })).message, /"from" must be before/)
})

test('a fault in a query is told with its column and its repair', () => {
  const error = failure(() => read({ query: 'level:error )' }))
  assert.match(error.message, /^"query": column \d+: /)
  const problem = JSON.parse(String(problemReply(error).body)) as Record<string, unknown>
  assert.equal(problem.status, 400)
  assert.equal(problem.field, 'query')
  assert.equal(problem.column, 13)
  assert.equal(typeof problem.repair, 'string')
  const inner = failure(() => readQueryText('aggregates[1].query', 'a:'))
  assert.equal(inner.members?.field, 'aggregates[1].query')
})

test('a wrong type is refused with the name of the member', () => {
  const wrong = [null, true, 1.5, 'x', {}, []]
  const cases: readonly (readonly [string, readonly unknown[]])[] = [
    ['query', [null, true, 1, {}, []]],
    ['time_basis', wrong],
    ['timeout_ms', [...wrong, 0, 30_001]],
    ['streams', [null, true, 1, 'x', {}, [], [1], [null]]],
  ]
  for (const [name, values] of cases) {
    for (const value of values) {
      const { code, message } = failure(() => read({ [name]: value }))
      assert.equal(code, 'malformed')
      assert.match(message, new RegExp(`^"${name}"`), JSON.stringify(value))
    }
  }
})

test('an answer says what it covers', () => {
  const nowMs = NOW_MS
  assert.deepEqual(honestMembers({ asOfMs: NOW_MS - 1_500, nowMs }), {
    complete: true,
    reason: null,
    covered: null,
    as_of: '2026-02-03T04:05:05.289Z',
    lag_ms: 1_500,
    sampled: false,
  })
  const covered = { fromNs: at('2026-02-03T04:00:00Z'), toNs: at('2026-02-03T04:00:00Z') + 1n }
  const short = honestMembers({ shortfall: { reason: 'timeout', covered }, asOfMs: nowMs, nowMs })
  assert.equal(short.complete, false)
  assert.deepEqual(short.covered, {
    from: '2026-02-03T04:00:00.000Z',
    to: '2026-02-03T04:00:00.000000001Z',
  })
  assert.equal(formatTimeNs(-1n), '1969-12-31T23:59:59.999999999Z')
})
