/**
 * Goal: an event's labels are the same whether they are read or known from events before it.
 * Method: each random event alone, by facts that know nothing, against batches of such events, in
 * which texts and layouts come again; the kernel's checked build.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { EventFacts } from '../../workers/facts/event-facts.ts'
import { NAMES_KEPT_MAX, NO_SERVICE } from '../../workers/facts/service-names.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

interface Label {
  readonly level: number
  readonly service: string
}

/** One worker's state, kept from call to call. */
class Worker {
  readonly #tape = new JsonTape(new PathTrie())
  readonly #events = new DecodedEvents()
  readonly #facts = new EventFacts()

  label(lines: readonly string[]): Label[] {
    const body = Buffer.from(lines.join('\n'))
    const bytes = Buffer.concat([body, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)])
    this.#events.reset()
    this.#tape.begin(bytes)
    decodeNdjson(this.#tape, this.#events, bytes, { start: 0, end: body.length }, new PartOutcome())
    assert.equal(this.#events.count, lines.length)
    this.#facts.describe(this.#tape, bytes, this.#events)
    const { level, service, names } = this.#facts.labels
    return lines.map((_, i) => {
      const name =
        service[i] === NO_SERVICE ? '' : Buffer.from(names.nameOf(service[i]!)).toString()
      return { level: level[i]!, service: name }
    })
  }
}

const worker = new Worker()
/** Knows no event: another worker would be slow to make. */
const labelAlone = (line: string): Label => new Worker().label([line])[0]!

const value = fc.oneof(
  fc.constantFrom('"info"', '"INFO"', '"Warn"', '"error"', '"e"', '""', '"inf\\u006f"', '30', '-0'),
  fc.constantFrom(
    '"[INFO] "',
    '"\\u001b[33mWARN\\u001b[0m"',
    '"\\u001b[33mx\\u001b[0m"',
    '"3"',
    '3',
  ),
  fc.constantFrom('9', '17', '"9"', '1.5', '18446744073709551615', 'null', 'true', '{}', '[1]'),
  // Lengths around those that are remembered, in halves of sixteen bytes.
  fc
    .constantFrom(1, 15, 16, 17, 31, 32, 33, 255, 256, 257)
    .chain((length) => fc.constantFrom('a', 'b').map((end) => `"${'s'.repeat(length - 1)}${end}"`)),
)
const key = fc.constantFrom(
  'level',
  'severity',
  'lvl',
  'Level',
  'LEVEL',
  'lEvel',
  'L',
  'PRIORITY',
  'priority',
  'Service',
  'severity_number',
  'service',
  'service.name',
  'app',
  'x',
)
const event = fc
  .array(fc.tuple(key, value), { maxLength: 5 })
  .map((members) => `{${members.map(([name, text]) => `"${name}":${text}`).join(',')}}`)

test('labels are the same in a batch, after others, and alone', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 12 }), (lines) => {
      const expected = lines.map(labelAlone)
      assert.deepEqual(worker.label(lines), expected)
      // Now all of them are known.
      assert.deepEqual(worker.label(lines), expected)
    }),
    fuzzed(seed, 150, 10_000),
  )
})

test('texts that share their slot, and names that were forgotten, are read again', () => {
  const names = Array.from({ length: NAMES_KEPT_MAX + 10 }, (_, i) => `service-${i}`)
  const lines = names.map((name) => `{"level":"warn","service":"${name}"}`)
  const services = (some: readonly string[]) => worker.label(some).map(({ service }) => service)
  assert.deepEqual(services(lines), names)
  // More than are kept: their numbers mean other names from here on.
  assert.deepEqual(services(lines.toReversed()), names.toReversed())
  assert.deepEqual(services(lines.slice(-20)), names.slice(-20))
})
