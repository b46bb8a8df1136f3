/**
 * Goal: the kernel finds the same patterns as the code that it is a copy of, in the text that the
 * stream's setting means, and reads no memory that is not its own.
 * Method: random events, of texts made of what patterns treat apart, by the kernel's checked build
 * and by `TextPattern` over what `JSON.parse` reads.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { patternText } from '../../src/model/patterns/pattern-template.ts'
import { TextPattern } from '../../src/model/patterns/text-pattern.ts'
import { TEXT_FIELDS_DEFAULT } from '../../src/model/text-fields.ts'
import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { EventFacts } from '../../workers/facts/event-facts.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const NO_PATTERN = '0000000000000000'

class Worker {
  readonly #tape = new JsonTape(new PathTrie())
  readonly #events = new DecodedEvents()
  readonly #facts = new EventFacts()

  patterns(lines: readonly string[], textFields?: readonly string[]): string[] {
    const body = Buffer.from(lines.join('\n'))
    const bytes = Buffer.concat([body, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)])
    this.#events.reset()
    this.#tape.begin(bytes)
    decodeNdjson(this.#tape, this.#events, bytes, { start: 0, end: body.length }, new PartOutcome())
    assert.equal(this.#events.count, lines.length)
    this.#facts.describe(this.#tape, bytes, this.#events)
    const { patterns } = this.#facts
    const all = { first: 0, count: lines.length }
    patterns.describe(this.#tape, bytes, this.#events, this.#facts, all, textFields)
    return lines.map((_, i) => patternText(patterns.low[i]!, patterns.high[i]!))
  }
}

const worker = new Worker()
const plain = new TextPattern()

function plainPattern(text: string): string {
  const bytes = Buffer.from(text)
  plain.read(bytes, 0, bytes.length)
  return patternText(plain.low, plain.high)
}

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-zA-Z]{1,20}$/) },
  { weight: 2, arbitrary: fc.nat().map(String) },
  fc.constantFrom(' ', '  ', '\t', '\n', ',', ', ', '.', ':', '/', '=', '"', "'", '\\', '@', '-'),
  fc.constantFrom('msg=', '"msg":', '"key":"', 'Sun ', 'Mon, ', 'Dec 4', 'May', '\u001b[31m', 'ü'),
  fc.constantFrom('\u001b', '\u001b[', '==', 'a=', 'level="', 'x'.repeat(41), '€', '\u0000', '#$%'),
  fc.string({ unit: 'binary', maxLength: 6 }),
)
const text = fc.oneof(
  fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join('')),
  fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('').repeat(400)),
)

test('the kernel finds the patterns of the plain code', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), (texts) => {
      const lines = texts.map((message) => JSON.stringify({ message }))
      // What is no text becomes U+FFFD in both.
      const expected = texts.map((message) => plainPattern(message))
      assert.deepEqual(worker.patterns(lines), expected)
    }),
    fuzzed(seed, 400, 900),
  )
})

test('the text is that of the best text field that has one', () => {
  const cases: readonly (readonly [event: string, text: string])[] = [
    ['{"msg":"second","message":"first"}', 'first'],
    ['{"message":"  ","msg":"second"}', 'second'],
    ['{"message":null,"msg":"second"}', 'second'],
    ['{"message":12,"error":"third"}', 'third'],
    ['{"message":"gone","message":"last"}', 'last'],
    ['{"message":"gone","message":7}', ''],
    ['{"a":{"b":{"message":"deep"}},"c":{"message":"less deep"}}', 'less deep'],
    ['{"b":{"message":"one"},"a":{"message":"two"}}', 'one'],
    ['{"list":[{"message":"in an element"}]}', ''],
    ['{"Message":"any case"}', 'any case'],
    ['{"me\\u0073sage":"escaped \\u0031"}', 'escaped 1'],
    ['{"other":"no text"}', ''],
    [`{"message":"${'\\u0061b '.repeat(20_000)}"}`, 'ab '.repeat(20_000)],
  ]
  const events = cases.map(([event]) => event)
  const expected = cases.map(([, of]) => (of === '' ? NO_PATTERN : plainPattern(of)))
  assert.deepEqual(worker.patterns(events), expected)
  // And when layouts are known.
  assert.deepEqual(worker.patterns(events), expected)
  for (const [index, event] of events.entries()) {
    assert.deepEqual(new Worker().patterns([event]), [expected[index]])
  }
})

test('the setting says which fields, and streams do not share what is known of them', () => {
  const event = '{"message":"by default","summary":"of our own","a":{"x":"dotted"}}'
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(worker.patterns([event]), [plainPattern('by default')])
    assert.deepEqual(worker.patterns([event], ['summary']), [plainPattern('of our own')])
    assert.deepEqual(worker.patterns([event], ['a.x', 'message']), [plainPattern('dotted')])
    assert.deepEqual(worker.patterns([event], TEXT_FIELDS_DEFAULT), [plainPattern('by default')])
    // More settings than are kept.
    for (let i = 0; i < 10; i++) {
      assert.deepEqual(worker.patterns([event], [`n${i}`]), [NO_PATTERN])
    }
  }
})

test('events without a layout have patterns, too', () => {
  const many = Array.from({ length: 3_000 }, (_, i) => `"k${i}":${i}`).join(',')
  const event = `{${many},"message":"after 1"}`
  assert.deepEqual(worker.patterns([event, '{"message":"x"}']), [
    plainPattern('after 1'),
    plainPattern('x'),
  ])
})
