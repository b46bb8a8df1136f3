/** Goal: settings become plans that are bounded, shared, and survive what happens to a worker. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_BUFFER_KEEP_BYTES } from '../../src/limits.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { previewEvent, previewString } from '../../workers/redaction-preview.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import { TRIE_NODES_MAX } from '../../workers/tape/path-trie.ts'
import { TRANSFORM_PLANS_MAX } from '../../workers/transform/plan.ts'
import { batchOf } from '../workers/batch-of.ts'
import { REDACT, Worker } from './transform-harness.ts'

test('TRANSFORM_PLANS_MAX: a worker serves more settings than it keeps plans', () => {
  const worker = new Worker()
  const line = JSON.stringify({ f0: 'x', f1: 'x', f99: 'x' })
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < TRANSFORM_PLANS_MAX + 40; i++) {
      const [text] = worker.run([line], { ...REDACT, redactFields: [`f${i}`] }).texts
      const { [`f${i}`]: value } = JSON.parse(text!)
      assert(value === undefined || value === '[REDACTED]')
      assert.equal(text!.split('REDACTED').length, value === undefined ? 1 : 2)
    }
  }
})

test('TRIE_NODES_MAX: keys are judged afresh when the trie starts afresh', () => {
  const worker = new Worker()
  const secret = '{"a":{"password":"x"},"b":"y"}'
  const expected = '{"a":{"password":"[REDACTED]"},"b":"y"}'
  assert.equal(worker.run([secret], REDACT).texts[0], expected)
  const keys = Array.from({ length: 2_000 }, (_, i) => i)
  for (let batch = 0; batch * 2_000 < TRIE_NODES_MAX * 2; batch++) {
    const many = JSON.stringify(Object.fromEntries(keys.map((i) => [`k${batch}-${i}`, 1])))
    assert.deepEqual(worker.run([many, secret], REDACT).texts, [many, expected])
  }
})

test('EVENT_BUFFER_KEEP_BYTES: what a large batch needed is given back', () => {
  const worker = new Worker()
  const line = JSON.stringify({ pin: 1, a: 'x'.repeat(900_000) })
  const large = worker.run(
    Array.from({ length: 10 }, () => line),
    REDACT,
  )
  assert(large.batch.bytes.length > EVENT_BUFFER_KEEP_BYTES)
  const small = worker.run(['{"pin":1}'], REDACT)
  assert.deepEqual(small.texts, ['{"pin":null}'])
  assert(small.batch.bytes.length <= EVENT_BUFFER_KEEP_BYTES)
})

test('ingest: every framing goes through the transforms, and segments hold what came out', () => {
  const settings = { ...REDACT, redactFields: ['message'], parseUserAgents: true }
  const cases = [
    ['text', 'a line\nanother "line"\n', '{"message":"[REDACTED]"}\n{"message":"[REDACTED]"}\n'],
    ['ndjson', '{"a":1}\n\n{"pin":1}\n{"b":2}\n', '{"a":1}\n{"pin":null}\n{"b":2}\n'],
    ['array', '{"pin":\n1},{"a":2}', '{"pin": null}\n{"a":2}\n'],
    ['document', '{"log":"{\\"pin\\":1}"}', '{"log":{"pin":null,"_raw":null}}\n'],
  ] as const
  for (const [framing, body, expected] of cases) {
    const encoded = new IngestPipeline().run({ ...batchOf(body, framing), settings })
    const stored = encoded.segments.map(({ payload }) => decodeSegment(payload).text.toString())
    assert.equal(stored.join(''), expected)
    assert(encoded.transforms.eventsRedacted > 0)
  }
})

test('preview: what ingest would store, and why', () => {
  const sample = JSON.stringify({
    user: { Password: 'x', email: 'e' },
    log: '{"token":1}',
    list: ['plain', `postgres://u:${'pw'}@h/d`],
  })
  const preview = previewEvent(Buffer.from(sample), ['user.email'])
  const [stored] = new Worker().run([sample], { ...REDACT, redactFields: ['user.email'] }).texts
  assert.equal(preview?.redacted, stored)
  assert.deepEqual(preview?.changes, [
    { path: 'user.Password', reason: 'denylisted_key' },
    { path: 'user.email', reason: 'redact_field' },
    { path: 'log.token', reason: 'denylisted_key' },
    { path: 'log._raw', reason: 'raw_cleared' },
    { path: 'list[]', reason: 'secret_value:url_password' },
  ])
  assert.equal(previewEvent(Buffer.from('[1]'), []), undefined)
  assert.equal(previewEvent(Buffer.from('{"a":'), []), undefined)
  assert.deepEqual(previewEvent(Buffer.from(' {"a":1} '), []), { redacted: '{"a":1}', changes: [] })
  assert.deepEqual(previewString('a "plain" line'), {
    redacted: '"a \\"plain\\" line"',
    changes: [],
  })
  assert.deepEqual(previewString(`see ftp://u:${'pw'}@h`), {
    redacted: '"[REDACTED]"',
    changes: [{ path: '', reason: 'secret_value:url_password' }],
  })
})
