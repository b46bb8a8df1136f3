/** Goal: bytes are a date-time just when the text is, and the same one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { tryReadTime } from '../../src/language/scalar.ts'
import { MomentReader } from '../../workers/evaluate/moment-reader.ts'
import { momentOf } from '../../workers/evaluate/time-test.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const reader = new MomentReader()

function assertSame(text: string): void {
  const bytes = Buffer.from(`9${text}9`)
  const isTime = reader.tryRead(bytes, 1, bytes.length - 1)
  const ns = tryReadTime(text)
  assert.equal(isTime, ns !== undefined, text)
  if (ns === undefined) return
  const { ms, nanos } = momentOf(ns)
  assert.deepEqual({ ms: reader.ms, nanos: reader.nanos }, { ms, nanos }, text)
}

const TEXTS = [
  ...[
    '2026-01-01T00:00:00Z',
    '2026-01-01t23:59:60z',
    '2026-01-01 00:00:00Z',
    '2026-01-01_00:00:00Z',
  ],
  ...[
    '2024-02-29T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2000-02-29T00:00:00Z',
  ],
  ...[
    '1899-12-31T23:59:59Z',
    '1900-01-01T00:00:00Z',
    '2261-12-31T23:59:59Z',
    '2262-01-01T00:00:00Z',
  ],
  ...['1969-12-31T23:59:59.999999999Z', '2026-01-01T00:00:00.1234567890Z', '2026-01-01T00:00:00.Z'],
  ...[
    '2026-01-01T00:00:00.123456789+23:59',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+1:00',
  ],
  ...[
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00ZZ',
    '2026-01-01T24:00:00Z',
    '2026-13-01T00:00:00Z',
  ],
  ...['2026-01-01T00:00:00.5-00:00', '2026-00-01T00:00:00Z', '2026-01-00T00:00:00Z', ''],
]

test('as the language reads them', () => {
  for (const text of TEXTS) assertSame(text)
})

test('every day that is taken', () => {
  for (let ms = Date.UTC(1899, 11, 30); ms < Date.UTC(2262, 0, 3); ms += 86_400_000) {
    assertSame(new Date(ms).toISOString())
  }
})

test('one character changed, left out or added', () => {
  const change = fc.tuple(
    fc.constantFrom(...TEXTS),
    fc.nat(40),
    fc.constantFrom(...'0123459-:.TZ +'),
  )
  const property = fc.property(change, fc.constantFrom(0, 1), ([text, at, char], cut) => {
    assertSame(`${text.slice(0, at)}${char}${text.slice(at + cut)}`)
    assertSame(`${text.slice(0, at)}${text.slice(at + 1)}`)
  })
  fc.assert(property, fuzzed(seed, 20_000, 2_000))
})
