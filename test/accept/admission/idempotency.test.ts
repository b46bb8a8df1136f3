/** Goal: which keys are accepted, how claims end, and which requests count as the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertIdempotencyKey,
  assertKeepable,
  assertSameRequest,
  claimIdempotencyKey,
  type IdempotencyStore,
  RequestFingerprint,
} from '../../../src/accept/admission/idempotency.ts'
import type { BodyPlan } from '../../../src/accept/dialect.ts'
import { JSON_BODY } from '../../../src/accept/framing/body-format.ts'
import { IngestError } from '../../../src/errors.ts'
import { IDEMPOTENCY_ANSWER_BYTES_MAX, IDEMPOTENCY_KEY_BYTES_MAX } from '../../../src/limits.ts'
import type { StreamId } from '../../../src/model/stream.ts'

test('a key is 1 to 255 visible ASCII characters, on one line', () => {
  for (const value of ['!', '~', '"8e03978e"', 'k'.repeat(IDEMPOTENCY_KEY_BYTES_MAX)]) {
    assert.doesNotThrow(() => assertIdempotencyKey({ lines: 1, value }))
  }
  const long = 'k'.repeat(IDEMPOTENCY_KEY_BYTES_MAX + 1)
  for (const value of ['', ' ', 'a b', 'a\tb', '\x7f', 'é', 'a\ufffdb', long]) {
    const judge = () => assertIdempotencyKey({ lines: 1, value })
    assert.throws(judge, (error) => error instanceof IngestError && error.code === 'malformed')
  }
  assert.throws(() => assertIdempotencyKey({ lines: 2, value: 'a' }), /given twice/)
})

test('a stream with too many kept answers is told to retry much later', async () => {
  const store: IdempotencyStore = { claim: async () => 'full', release: async () => undefined }
  await assert.rejects(claimIdempotencyKey(store, 1 as StreamId, 'k', 'native'), (error) => {
    assert.ok(error instanceof IngestError)
    assert.deepEqual([error.code, error.retryAfterSeconds], ['rate_limited', 600])
    return /IDEMPOTENCY_STREAM_BYTES_MAX/.test(error.message)
  })
})

test('a request is the same however its body is cut, and differs if any part of it does', () => {
  const fingerprint = (
    key: string,
    name: string,
    target: BodyPlan['target'],
    ...pieces: string[]
  ) => {
    const made = new RequestFingerprint(key, { format: { ...JSON_BODY, name }, target })
    for (const piece of pieces) made.update(Buffer.from(piece))
    return made.digest()
  }
  const kept = fingerprint('k', 'bulk', ['a'], 'ab', 'c')
  const same = fingerprint('k', 'bulk', ['a'], 'abc')
  assert.doesNotThrow(() => assertSameRequest(kept, same))
  for (const other of [
    fingerprint('k', 'bulk', ['a'], 'abd'),
    fingerprint('k', 'bulk', ['b'], 'abc'),
    fingerprint('k', 'bulk', [], 'abc'),
    fingerprint('k', 'ndjson', ['a'], 'abc'),
    fingerprint('k', 'document', ['a', ''], 'abc'),
    fingerprint('l', 'bulk', ['a'], 'abc'),
  ]) {
    assert.throws(() => assertSameRequest(kept, other), /used with another request/)
  }
})

test('a remembered answer has at most IDEMPOTENCY_ANSWER_BYTES_MAX', () => {
  assert.doesNotThrow(() => assertKeepable(IDEMPOTENCY_ANSWER_BYTES_MAX))
  assert.throws(() => assertKeepable(IDEMPOTENCY_ANSWER_BYTES_MAX + 1), /filter_path/)
})
