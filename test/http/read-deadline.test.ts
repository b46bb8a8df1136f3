/** Goal: a read ends READ_GRACE_MS after the time that it asked for, wherever that is said. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import { ReadDeadline } from '../../src/http/read-deadline.ts'
import { QUERY_MS_MAX, READ_GRACE_MS } from '../../src/limits.ts'

/** After how many ms, a hundred more or less, the read is answered although its work hangs. */
async function endsAfter(t: TestContext, set: (deadline: ReadDeadline) => void): Promise<number> {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const deadline = new ReadDeadline()
  set(deadline)
  let ended: { readonly error: unknown; readonly ms: number } | undefined
  deadline.race(new Promise(() => undefined)).catch((error: unknown) => {
    ended = { error, ms: nowMs }
  })
  while (ended === undefined) {
    nowMs += 100
    t.mock.timers.tick(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { error, ms } = ended
  assert.ok(error instanceof IngestError && error.code === 'unavailable')
  assert.equal(error.members?.reason, 'timeout')
  assert.ok(deadline.signal.aborted)
  return ms
}

const bodyOf = (text: string) => (deadline: ReadDeadline) => deadline.setByBody(Buffer.from(text))

for (const [name, set, expected] of [
  ['without a time', () => undefined, QUERY_MS_MAX],
  ['of a URL', (deadline: ReadDeadline) => deadline.set(700), 700],
  ['that is none', (deadline: ReadDeadline) => deadline.set(Number.NaN), QUERY_MS_MAX],
  ['past what may be asked', (deadline: ReadDeadline) => deadline.set(999_999), QUERY_MS_MAX],
  ['of a body', bodyOf('{"query":"a","timeout_ms" : 1500}'), 1_500],
  ['within a text of a body', bodyOf('{"query":"\\"timeout_ms\\": 5"}'), QUERY_MS_MAX],
] as const) {
  test(`${name}`, async (t) => {
    const ms = await endsAfter(t, set)
    assert.ok(Math.abs(ms - expected - READ_GRACE_MS) <= 100, `after ${ms} ms`)
  })
}

test('work that ends before is what the read answers', async () => {
  const deadline = new ReadDeadline()
  deadline.set(50)
  assert.equal(await deadline.race(Promise.resolve(5)), 5)
  await assert.rejects(deadline.race(Promise.reject(new Error('no'))), /no/)
  assert.ok(deadline.leftMs <= 50 && deadline.leftMs > 0)
  deadline.end()
})
