/**
 * Goal: `log` becomes an object exactly where JSON.parse makes one of its string.
 * Method: a table; random JSON, whole and broken, against JSON.parse.
 */
import '../../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DEPTH_MAX, EVENT_BYTES_MAX } from '../../../src/limits.ts'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'
import { OFF, REDACT, transformed, Worker } from '../transform-harness.ts'

const seed = testSeed()

/** What extraction must make of an event, by JSON.parse. */
function expected(event: { log?: unknown }): object {
  if (typeof event.log !== 'string') return event
  let parsed: unknown
  try {
    parsed = JSON.parse(event.log)
  } catch {
    return event
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return event
  return { ...event, log: { ...parsed, _raw: event.log } }
}

function check(worker: Worker, log: string): void {
  const event = { before: [1, { a: 2 }], log, after: 'x' }
  const { texts } = worker.run([JSON.stringify(event)], OFF)
  assert.deepEqual(JSON.parse(texts[0]!), expected(event))
  assert(!texts[0]!.includes('\n'))
}

test('strings that are objects, and those that are not', () => {
  const worker = new Worker()
  const logs = [
    ...['{}', ' { } ', '{"a":1}', '\t{"a":1}\r\n', '{\n"a"\n:\n[\n1\n]\n}\n', '{"_raw":"own"}'],
    ...[
      '[]',
      '[{"a":1}]',
      '1',
      'null',
      '"x"',
      '',
      ' ',
      'plain text',
      '{',
      '}',
      '{}}',
      '{{}',
      '{}{}',
    ],
    ...[
      '{"a":1,}',
      '{,}',
      '{"a"}',
      '{"a":}',
      "{'a':1}",
      '{"a":1}x',
      '{"a":"x}',
      '{"a',
      '{"a":{}',
      '\ufeff{}',
    ],
    ...[
      '{"a":"line\nfeed"}',
      '{"a":"line\\nfeed"}',
      '{"a":"\\u00e9\\ud83d\\ude00 \\ud800"}',
      '{"é😀":"\\\\"}',
    ],
    ...[
      '{"a":"\u2028"}',
      '{"a":1,"a":{"b":2}}',
      '{"a.b":1}',
      '{"x":"}"}',
      '{"x":"{"}',
      '{"x":",\\"_raw\\":"}',
    ],
    ...['{"a":"\u0000"}', '{"a":1}\u0000', '{"a":1}\u00a0', '{"a":[}', '{"log":"{\\"b\\":1}"}'],
  ]
  for (const log of logs) check(worker, log)
})

test('random objects as they were written and cut or changed somewhere', (t) => {
  t.diagnostic(`seed ${seed}`)
  const worker = new Worker()
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), {
    noNullPrototype: true,
  })
  const space = fc.constantFrom(undefined, 1)
  const change = fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom('', '{', '}', '"', ',', '\\', '\n'))
  fc.assert(
    fc.property(object, space, fc.option(change), (value, gap, edit) => {
      if ('__proto__' in value && Object.hasOwn(value, '__proto__')) return
      let log = JSON.stringify(value, undefined, gap)
      if (edit !== null) {
        const at = edit[0] % log.length
        log = log.slice(0, at) + edit[2] + log.slice(at + edit[1])
      }
      check(worker, log)
    }),
    fuzzed(seed, 2_000, 2_000),
  )
})

test('only at the root, only the key that counts, and only once', () => {
  const inner = JSON.stringify({ a: 1 })
  const nested = JSON.stringify({ x: { log: inner }, logs: inner, Log: inner })
  assert.equal(transformed(nested, OFF), nested)
  const raw = JSON.stringify(inner)
  assert.equal(transformed(`{"log":${raw},"log":"t"}`, OFF), `{"log":${raw},"log":"t"}`)
  assert.equal(
    transformed(`{"log":"t","l\\u006fg":${raw}}`, OFF),
    `{"log":"t","l\\u006fg":{"a":1,"_raw":${raw}}}`,
  )
  const twice = JSON.stringify({ log: JSON.stringify({ log: inner }) })
  const { log } = JSON.parse(transformed(twice, OFF))
  assert.equal(log.log, inner)
})

test('an object of the event before is no part of it: stale bytes do not end a broken one', () => {
  const worker = new Worker()
  const long = JSON.stringify({ log: JSON.stringify({ a: 'x'.repeat(300), b: { c: 1 } }) })
  const broken = JSON.stringify({ log: '{"a":"x"' })
  for (const lines of [
    [long, broken],
    [broken, long, broken],
  ]) {
    const { texts } = worker.run(lines, OFF)
    for (const [i, line] of lines.entries()) if (line === broken) assert.equal(texts[i], broken)
  }
})

test('DEPTH_MAX holds for what is stored', () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
  const deepest = JSON.stringify({ log: nested(DEPTH_MAX - 1) })
  assert.notEqual(transformed(deepest, OFF), deepest)
  const deeper = JSON.stringify({ log: nested(DEPTH_MAX) })
  assert.equal(transformed(deeper, OFF), deeper)
})

test('an event of EVENT_BYTES_MAX is extracted, and then larger than it was sent', () => {
  const log = JSON.stringify({ a: 'x'.repeat(EVENT_BYTES_MAX - 30), b: 1 })
  const line = JSON.stringify({ log })
  assert(line.length <= EVENT_BYTES_MAX && line.length > EVENT_BYTES_MAX - 16)
  const text = transformed(line, OFF)
  assert(text.length > EVENT_BYTES_MAX)
  assert.equal(JSON.parse(text).log._raw, log)
})

test('what was extracted is redacted, and the string it came from cleared', () => {
  const line = JSON.stringify({ log: JSON.stringify({ user: { token: 't' } }) })
  assert.equal(transformed(line, REDACT), '{"log":{"user":{"token":"[REDACTED]"},"_raw":null}}')
})
