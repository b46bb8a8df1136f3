/**
 * Goal: what is worked out once a layout is what would be worked out for each event.
 * Method: the same events described by a worker that knows layouts of many batches, and by one that
 * has met nothing; blocks made with the layouts and without; each bound is hit.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LAYOUT_ENTRIES_MAX, LAYOUT_STATES_MAX } from '../../src/limits.ts'
import { NativeBlockEncoder } from '../../workers/block/native-block.ts'
import { tapeSource } from '../../workers/block/native-json.ts'
import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { EventFacts } from '../../workers/facts/event-facts.ts'
import { NO_LAYOUT } from '../../workers/facts/event-layouts.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import { documentTree, render } from '../block/value-trees.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

/** One worker's state, kept from batch to batch. */
class Worker {
  readonly #tape = new JsonTape(new PathTrie())
  readonly #events = new DecodedEvents()
  readonly #blocks = new NativeBlockEncoder()
  readonly facts = new EventFacts()

  /** Describes one event a line and makes their block; `isBlind` takes their layouts away. */
  run(lines: readonly string[], isBlind = false) {
    const body = Buffer.from(lines.join('\n'))
    const bytes = Buffer.concat([body, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)])
    const { facts } = this
    const tape = this.#tape
    const events = this.#events
    events.reset()
    tape.begin(bytes)
    decodeNdjson(tape, events, bytes, { start: 0, end: body.length }, new PartOutcome())
    assert.equal(events.count, lines.length)
    facts.describe(tape, bytes, events)
    const layouts = [...facts.layout.subarray(0, lines.length)]
    if (isBlind) facts.layout.fill(NO_LAYOUT)
    const range = { first: 0, count: lines.length }
    facts.patterns.describe(tape, bytes, events, facts, range)
    const { block, pathsSkipped } = this.#blocks.encode(
      tapeSource(bytes, tape),
      events,
      facts,
      range,
    )
    const described = lines.map((_, i) => [
      facts.shapeLow[i],
      facts.shapeHigh[i],
      facts.timeSource[i],
      facts.timeSource[i] === 0 ? 0 : facts.timeMs[i],
    ])
    return { layouts, described, pathsSkipped, block: Buffer.from(block.bytes) }
  }
}

const time = fc.constantFrom(
  '"2026-01-01T00:00:00Z"',
  '"2026-01-01T00:00:00\\u005a"',
  '"2026-02-30"',
  '"soon"',
  '7',
  'null',
)
const timed = fc.tuple(documentTree.map(render), time, time).map(([event, a, b]) => {
  const rest = event === '{}' ? '}' : `,${event.slice(1)}`
  return `{"ts":${a},"@timestamp":${b}${rest}`
})

test('shapes, times and blocks are those of events met one by one', () => {
  const known = new Worker()
  const batch = fc
    .tuple(fc.array(timed, { minLength: 1, maxLength: 6 }), fc.array(fc.nat(5), { maxLength: 40 }))
    .map(([events, picks]) => [...events, ...picks.map((pick) => events[pick % events.length]!)])
  fc.assert(
    fc.property(batch, (lines) => {
      const { layouts, ...found } = known.run(lines)
      const { layouts: _, ...blind } = new Worker().run(lines, true)
      assert.deepEqual(found.described, blind.described)
      assert(found.block.equals(blind.block), 'the same block')
      assert.equal(found.pathsSkipped, blind.pathsSkipped)
      assert.deepEqual(
        lines.map((line) => new Worker().run([line]).described[0]),
        found.described,
      )
    }),
    fuzzed(seed, 1_000, 1_500),
  )
})

const layoutsOf = (...lines: string[]) => new Set(new Worker().run(lines).layouts)

test('one layout: the same paths with the same kinds of values in the same order', () => {
  const same = [
    ['{"a":true,"b":"x","c":1}', '{"a":false,"b":"\\n","c":-7}', '{ "a" : true,"b":"","c":0 }'],
    ['{"a":[1,{"b":2}],"c":null}', '{"a":[3,{"b":4}],"c":null}'],
    ['{}', ' {}'],
  ]
  for (const lines of same) assert.equal(layoutsOf(...lines).size, 1, lines[0])
  const other = [
    ['{"a":1}', '{"a":1.5}', '{"a":18446744073709551615}', '{"a":"1"}', '{"a":null}', '{"a":[]}'],
    ['{"a":1,"b":2}', '{"b":2,"a":1}', '{"a":1}', '{"a":1,"b":2,"c":3}'],
    ['{"a":[1]}', '{"a":[1,2]}', '{"a":[[1],2]}', '{"a":[[1,2]]}', '{"a":[[1],[2]]}'],
    ['{"a":[{"b":1},{"c":1}]}', '{"a":[{"b":1,"c":1}]}', '{"a":[{"b":1}],"c":1}'],
    ['{"a.b":1}', '{"a":{"b":1}}'],
  ]
  for (const lines of other) assert.equal(layoutsOf(...lines).size, lines.length, lines[0])
})

test('LAYOUT_ENTRIES_MAX: longer events have none', () => {
  const event = (fields: number) =>
    `{${Array.from({ length: fields }, (_, i) => `"k${i}":${i}`).join(',')}}`
  const { layouts } = new Worker().run([event(LAYOUT_ENTRIES_MAX), event(LAYOUT_ENTRIES_MAX + 1)])
  assert.notEqual(layouts[0], NO_LAYOUT)
  assert.equal(layouts[1], NO_LAYOUT)
})

test('LAYOUT_STATES_MAX: a flood finds no room, and the next batch finds it again', () => {
  const worker = new Worker()
  const flood = Array.from({ length: LAYOUT_STATES_MAX / 16 + 100 }, (_, i) => {
    const keys = Array.from({ length: 16 }, (_, k) => `"k${k}":${(i >> k) % 2 === 0 ? k : `"s"`}`)
    return `{"n":[${'1,'.repeat(i % 200)}1],${keys.join(',')}}`
  })
  const { layouts } = worker.run(flood)
  assert(layouts.includes(NO_LAYOUT), 'there was no room for some')
  assert(layouts.filter((layout) => layout >= LAYOUT_STATES_MAX).length === 0)
  const again = worker.run(['{"a":1}', '{"a":2}'])
  assert.notEqual(again.layouts[0], NO_LAYOUT)
  assert.equal(again.layouts[0], again.layouts[1])
})
