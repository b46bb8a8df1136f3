/**
 * Goal: an event's shape is the set of its (path, type) leaves and nothing else; its producer time
 * comes from the first time field that holds one.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { EventFacts, SOURCE_FIELD, SOURCE_RECEIPT } from '../../workers/facts/event-facts.ts'
import { shapeText } from '../../workers/schema/schema-delta.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie, TIME_FIELDS } from '../../workers/tape/path-trie.ts'
import { documentTree, type ObjectTree, render, type Tree } from '../block/value-trees.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

/** One worker's state, kept from call to call. */
class Worker {
  readonly #tape = new JsonTape(new PathTrie())
  readonly #events = new DecodedEvents()
  readonly facts = new EventFacts()

  /**
   * Describes one event a line; returns the shapes. Again, when all layouts are known, it is the
   * kernel that does it, with the same result.
   */
  describe(...lines: string[]): string[] {
    const body = Buffer.from(lines.join('\n'))
    const bytes = Buffer.concat([body, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)])
    this.#events.reset()
    this.#tape.begin(bytes)
    const range = { start: 0, end: body.length }
    decodeNdjson(this.#tape, this.#events, bytes, range, new PartOutcome())
    assert.equal(this.#events.count, lines.length)
    this.facts.describe(this.#tape, bytes, this.#events)
    const first = lines.map((_, i) => this.#factsOf(i))
    this.facts.describe(this.#tape, bytes, this.#events)
    const second = lines.map((_, i) => this.#factsOf(i))
    assert.deepEqual(second, first)
    return lines.map((_, i) => shapeText(this.facts.shapeLow[i]!, this.facts.shapeHigh[i]!))
  }

  #factsOf(event: number): readonly number[] {
    const { shapeLow, shapeHigh, timeSource, timeMs, timeNanos } = this.facts
    const time = timeSource[event] === SOURCE_RECEIPT ? [] : [timeMs[event]!, timeNanos[event]!]
    return [shapeLow[event]!, shapeHigh[event]!, timeSource[event]!, ...time]
  }
}

const shapeOf = (line: string) => new Worker().describe(line)[0]

const SAME: readonly (readonly string[])[] = [
  ['{"a":1,"b":"x"}', '{"b":"y","a":-7}', '{"b":"","a":18446744073709551615}'],
  ['{"a":[1]}', '{"a":[1,2,3]}', '{"a":[9,8]}'],
  ['{"a":[{"x":1},{"x":2}]}', '{"a":[{"x":3}]}', '{"a":[{"x":1},{},{"x":1}]}'],
  ['{"a":[{"x":1,"y":"s"}]}', '{"a":[{"y":"s"},{"x":1}]}'],
  ['{"a.b":1}', '{"a":{"b":2}}', '{"\\u0061":{"b":3}}', '{"a":{"\\u0062":4}}', '{"a\\u002eb":5}'],
  ['{"a.b.c":true}', '{"a":{"b.c":false}}', '{"a.b":{"c":true}}'],
  ['{"r":[{"a.b":1}]}', '{"r":[{"a":{"b":1}}]}'],
  ['{"a":"plain"}', '{"a":"with \\n escape"}'],
  ['{"z":1,"z":"x"}', '{"z":"x"}', '{"z":{"b":1},"z":"x"}'],
  ['{"a":1e5}', '{"a":0.5}', '{"a":123456789012345678901234567890}'],
  ['{}', ' { } '],
]

test('one shape: order, length of arrays, spelling and values do not matter', () => {
  const shapes = SAME.map((lines) => {
    const each = new Set(lines.map(shapeOf))
    assert.equal(each.size, 1, lines[0])
    return [...each][0]
  })
  assert.equal(new Set(shapes).size, SAME.length)
})

test('another type or path is another shape', () => {
  const values = ['1', '1.5', '"s"', 'true', 'null', '[]', '{}', '[1]', '["s"]', '[[]]', '[[1]]']
  const lines = values.flatMap((value) => [
    `{"a":${value}}`,
    `{"b":${value}}`,
    `{"a":{"a":${value}}}`,
    `{"a":[{"a":${value}}]}`,
    `{"a":${value},"z":1}`,
  ])
  lines.push(
    '{"a":{"b":1,"c":2}}',
    '{"a":{"b":1},"c":2}',
    '{"ab":1}',
    '{"a":{"":1}}',
    '{"":{"a":1}}',
  )
  lines.push('{"a":[1,{"b":2}]}', '{"a":[1],"b":2}', '{"a[]":1}', '{"a":"1"}', '{"A":1}')
  const byShape = new Map<string | undefined, string>()
  for (const line of new Set(lines)) {
    const known = byShape.get(shapeOf(line))
    // `{"a":"1"}` and `{"a":"s"}` are the same on purpose.
    if (known !== undefined) assert.deepEqual([known, line], ['{"a":"s"}', '{"a":"1"}'])
    byShape.set(shapeOf(line), line)
  }
})

function shuffled(tree: Tree): Tree {
  if (tree.kind === 'array') return { kind: 'array', items: tree.items.map(shuffled) }
  if (tree.kind !== 'object') return tree
  const last = new Map(tree.entries.map(([key, value]) => [key, shuffled(value)] as const))
  return { kind: 'object', entries: [...last].reverse() }
}

test('shapes do not depend on key order, on neighbours, or on what a worker met before', () => {
  const worker = new Worker()
  const trees = fc.array(documentTree, { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(trees, (documents: readonly ObjectTree[]) => {
      const lines = documents.map(render)
      const alone = lines.map(shapeOf)
      assert.deepEqual(worker.describe(...lines), alone)
      assert.deepEqual(worker.describe(...lines.toReversed()).reverse(), alone)
      assert.deepEqual(
        documents.map((tree) => shapeOf(render(shuffled(tree)))),
        alone,
      )
    }),
    fuzzed(seed, 1_000, 600),
  )
})

test('the shape of a known event never changes: it is stored', () => {
  // Changing these means that stored shapes and the catalog's no longer match.
  assert.equal(shapeOf('{}'), '0000000000000000')
  assert.equal(shapeOf('{"a":1}'), KNOWN_SHAPES[0])
  assert.equal(shapeOf('{"a":{"b":[{"c":"x"},null]},"t":true}'), KNOWN_SHAPES[1])
})

const KNOWN_SHAPES = ['6aea2389f7ecb326', '0cc48943b5bc6ca0']

test('shapes of many similar events are all different', () => {
  const worker = new Worker()
  const lines: string[] = []
  for (let i = 0; i < 300; i++) {
    for (let j = 0; j < 100; j++) lines.push(`{"k${i}":1,"v${j}":"s"}`)
  }
  assert.equal(new Set(worker.describe(...lines)).size, lines.length)
})

const TIME = '"2026-01-02T03:04:05.123456789Z"'

test('the first time field that holds a date-time wins, wherever it is', () => {
  const worker = new Worker()
  const early = '"2001-01-01T00:00:00Z"'
  for (const [i, field] of TIME_FIELDS.entries()) {
    const lower = TIME_FIELDS.slice(i + 1).map((name) => `"${name}":${early}`)
    const higher = TIME_FIELDS.slice(0, i).map((name) => `"${name}":"no time"`)
    const items = [...lower, ...higher, `"${field}":${TIME}`]
    worker.describe(`{${items.join(',')}}`, `{${items.toReversed().join(',')}}`)
    for (const event of [0, 1]) {
      assert.equal(worker.facts.timeSource[event], SOURCE_FIELD, field)
      assert.equal(worker.facts.timeMs[event], Date.UTC(2026, 0, 2, 3, 4, 5, 123), field)
      assert.equal(worker.facts.timeNanos[event], 456_789, field)
    }
  }
})

test('a time is found however its text is spelled', () => {
  const worker = new Worker()
  const escaped = [...'2026-01-02T03:04:05Z'].map((char) => {
    return `\\u00${char.charCodeAt(0).toString(16)}`
  })
  const lines = [
    '{"time":"2026-01-02T05:04:05\\u002b02:00"}',
    '{"time":"2026-01-02T03:04:05\\u005a"}',
    `{"time":"${escaped.join('')}"}`,
    `{"time":"${escaped.join('')}","time_":"${'\\n'.repeat(300)}"}`,
    '{"@timestamp":"1767323045000.0","attributes":{}}',
  ]
  worker.describe(...lines, `{"time":"${'\\n'.repeat(300)}"}`)
  for (const [i, line] of lines.entries()) {
    assert.equal(worker.facts.timeSource[i], SOURCE_FIELD, line)
    assert.equal(worker.facts.timeMs[i], Date.UTC(2026, 0, 2, 3, 4, 5), line)
  }
  assert.equal(worker.facts.timeSource[lines.length], SOURCE_RECEIPT)
})

test('no date-time in a time field at the root: the receipt time holds', () => {
  const worker = new Worker()
  const lines = [
    '{}',
    `{"nested":{"time":${TIME}}}`,
    `{"times":[{"time":${TIME}}],"ts":[${TIME}]}`,
    '{"time":1767323045,"ts":null,"date":"today","timestamp":"1767323045"}',
    `{"Time":${TIME},"TIMESTAMP":${TIME}}`,
    `{"time":${TIME},"time":"gone"}`,
    `{"time":${TIME},"time":{"x":1}}`,
  ]
  worker.describe(...lines)
  for (const [i, line] of lines.entries()) {
    assert.equal(worker.facts.timeSource[i], SOURCE_RECEIPT, line)
  }
})
