/**
 * Goal: no search passes over a waiting block that has an event it matches; one without is passed
 * over wherever the query says what it needs, and whose bytes are gone is not.
 * Method: random events, each a block of its own as ingest makes it, and random queries, compared
 * with the evaluator: the blocks in memory, in a spool, and joined there. Cases by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'
import { requiredLiterals } from '../../src/language/required-literals.ts'
import { joinBlocks } from '../../src/materialize/join-blocks.ts'
import { type WaitingBlock, WaitingBlocks } from '../../src/materialize/waiting-blocks.ts'
import type { EncodedBlock } from '../../src/model/batch/encoded-block.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { BlockSpool } from '../../src/model/projection.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { TextNames } from '../../src/model/text-fields.ts'
import { Evaluator } from '../../workers/evaluate/evaluator.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { TapedBatch } from '../evaluate/taped-batch.ts'
import { eventText, TEXT_FIELDS } from '../language/random-event.ts'
import { queryText } from '../language/random-query.ts'
import { fewest, forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { batchOf } from '../workers/batch-of.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const ORIGIN = { segmentId: '1', ingestedAtMs: Date.UTC(2026, 0, 1), firstEvent: 0 }
const ingest = new IngestPipeline()
const DEFAULT: readonly string[] = ['message']

/** A spool of bytes in memory; it is over once `end` was called. */
function memorySpool(): BlockSpool & { readonly end: () => void } {
  let bytes = Buffer.from('what other streams have there')
  let isOver = false
  return {
    rowsMax: 1_000,
    append: (pieces) => {
      const start = bytes.length
      bytes = Buffer.concat([bytes, ...pieces])
      return start
    },
    tryRead: (start, into) => {
      if (isOver) return false
      assert.ok(start + into.length <= bytes.length, 'nothing is read past the end')
      into.set(bytes.subarray(start, start + into.length))
      return true
    },
    insert: () => Promise.resolve(),
    release: () => undefined,
    end: () => {
      isOver = true
    },
  }
}

/** Blocks by the numbers of their segments, from 0. */
class Waiting {
  readonly blocks = new WaitingBlocks()
  readonly #added: { readonly block: EncodedBlock; readonly waiting: WaitingBlock }[] = []

  add(block: EncodedBlock): void {
    const id = BigInt(this.#added.length) as SegmentId
    this.#added.push({ block, waiting: this.blocks.add([id], block)! })
  }

  /** Moves all to a spool, those with the same columns joined or each alone. */
  spool(pieceBytesMin: number, spool = memorySpool()): void {
    const joinable = this.#added.map(({ block, waiting: { starts } }) => ({ ...block, starts }))
    const start = spool.append(joinBlocks(joinable, pieceBytesMin))
    for (const { block, waiting } of this.#added) {
      waiting.moveTo(spool, start)
      block.bytes.fill(0xff) // Somebody else's from now on.
    }
  }

  remove(n: number): void {
    this.blocks.remove(this.#added[n]!.waiting)
  }

  /** The segments that a query does not pass over. */
  left(query: string, text = DEFAULT): number[] {
    const prefilter = this.blocks.prefilter(requiredLiterals(parse(query), new TextNames(text)))
    return [...this.#added.keys()].filter((n) => prefilter(BigInt(n) as SegmentId))
  }
}

function waitingFor(lines: readonly string[]): Waiting {
  const waiting = new Waiting()
  for (const line of lines) waiting.add(ingest.run(batchOf(line)).segments[0]!.block)
  return waiting
}

/** The same for the table that streams share. */
function sharedFor(lines: readonly string[]): Waiting {
  const waiting = new Waiting()
  const owners = [{ streamId: 1 as StreamId, parts: 1 }]
  for (const line of lines) {
    const batch = { ...batchOf(line), streamId: MIXED_STREAM, owners }
    waiting.add(ingest.run(batch).segments[0]!.block)
  }
  return waiting
}

/** In memory, in a spool, joined there. */
const PLACES = [
  () => undefined,
  (waiting: Waiting) => waiting.spool(Number.POSITIVE_INFINITY),
  (waiting: Waiting) => waiting.spool(0),
] as const

function tryEvaluator(text: string, textFields: readonly string[]): Evaluator | undefined {
  try {
    return new Evaluator(parse(text), textFields)
  } catch (error) {
    assert.ok(error instanceof QueryError)
    return undefined
  }
}

/** Others have other columns each; these have the same, so they are joined. */
const sameColumns = fc
  .tuple(...Array.from({ length: 4 }, () => fc.constantFrom('a b', 'Timed', 'x:y', 'İ', '\u212a')))
  .map(([a, b, c, d]) => {
    return JSON.stringify({ a, tags: [b, 'x'], l: [{ m: c }, { m: d }], 'b.c': a!.length })
  })

test('no block with an event that matches is passed over', (t) => {
  let round = 0
  let hits = 0
  let misses = 0
  let passedOver = 0
  const batch = new TapedBatch()
  forMilliseconds(5_000, () => {
    const options = { seed: seed + round, numRuns: 30 }
    const lines = [...fc.sample(eventText, options), ...fc.sample(sameColumns, options)]
    const isShared = round % 4 === 3
    const waiting = (isShared ? sharedFor : waitingFor)(lines)
    if (!isShared) PLACES[round % PLACES.length]!(waiting)
    batch.load(lines, ORIGIN)
    const textFields = TEXT_FIELDS[(round >> 1) % TEXT_FIELDS.length]!
    for (const text of fc.sample(queryText, { ...options, numRuns: 60 })) {
      const evaluator = tryEvaluator(text, textFields)
      if (evaluator === undefined) continue
      const left = new Set(waiting.left(text, textFields))
      evaluator.begin(batch.cursor)
      for (const ordinal of lines.keys()) {
        batch.cursor.moveTo(ordinal)
        const matches = evaluator.matches(batch.cursor)
        const shown = `${text} of ${textFields}: ${lines[ordinal]}`
        assert.ok(left.has(ordinal) || !matches, shown)
        if (matches) hits++
        else misses++
        if (!left.has(ordinal)) passedOver++
      }
    }
    round++
  })
  t.diagnostic(`${hits} matches; passed over ${passedOver} of ${misses} others`)
  assert.ok(hits > fewest(1_000) && passedOver > misses / 10)
})

/** Of three events, those that a query leaves. */
const CASES: readonly (readonly [query: string, lines: readonly string[], left: number[]])[] = [
  ['f:abc', ['{"f":"abc"}', '{"f":"ab"}', '{"g":"abc"}'], [0]],
  ['f:abc', ['{"f":["x","abc"]}', '{"f":[1,"abc"]}', '{"f":{"g":"abc"}}'], [0, 1]],
  ['f:503', ['{"f":503}', '{"f":"503"}', '{"f":504}'], [0, 1]],
  ['f:503', ['{"f":503.0}', '{"f":[503,1.5]}', '{"f":true}'], [0, 1]],
  ['f:-0', ['{"f":0}', '{"f":0.0}', '{"f":-0.0}'], [0, 1, 2]],
  ['f:a*xyz*', ['{"f":"a-xyz"}', '{"f":"xy"}', '{"f":"yz"}'], [0]],
  ['timeout', ['{"message":"a TimeOut!"}', '{"message":"time out"}', '{"x":"timeout"}'], [0, 2]],
  ['kill', ['{"message":"\u212aILL"}', '{"message":"KILL"}', '{"message":"ill"}'], [0, 1]],
  ['id', ['{"message":"\u0130d"}', '{"message":"ID"}', '{"message":"d"}'], [0, 1]],
  ['message:"out of memory"', ['{"message":"Out of Memory"}', '{"message":"out of"}', '{}'], [0]],
  ['message:"out of memory"', ['{"message":"Memory out"}', '{"message":"of memory out"}'], [1]],
  ['f:ab AND g:cd', ['{"f":"ab"}', '{"f":"ab","g":"cd"}', '{"g":"cd"}'], [1]],
  ['f:ab OR g:cd', ['{"f":"ab"}', '{"f":"cd","g":"x"}', '{"g":"cd"}'], [0, 2]],
  ['f:ab OR g:*', ['{"f":"ab"}', '{"f":"x"}', '{"g":"x"}'], [0, 1, 2]],
  ['NOT f:ab', ['{"f":"ab"}', '{"f":"x"}', '{}'], [0, 1, 2]],
  ['*:abc', ['{"x":{"f":"abc"}}', '{"l":[{"f":"abc"}]}', '{"abc":"x"}'], [0, 1]],
  ['f:true', ['{"f":true}', '{"f":false}', '{"f":"x"}'], [0, 1, 2]],
  ['f:"a\\\\b"', ['{"f":"a\\\\b"}', '{"f":"a\\u005cb"}', '{"f":"ab"}'], [0, 1]],
]

test('what a query needs decides', () => {
  for (const [query, lines, left] of CASES) {
    for (const place of PLACES) {
      const waiting = waitingFor(lines)
      place(waiting)
      assert.deepEqual(waiting.left(query), left, query)
    }
  }
})

test('words without a field are looked for at all paths', () => {
  const lines = ['{"x":"a Word"}', '{"y":{"z":"word"}}', '{"x":"other"}']
  assert.deepEqual(waitingFor(lines).left('word', ['message']), [0, 1])
  assert.deepEqual(waitingFor(lines).left('x:word', ['X']), [0])
  assert.deepEqual(waitingFor(lines).left('x:word', ['message']), [])
})

test('blocks that are not here, cannot be looked into, or are gone are let through', () => {
  const waiting = waitingFor(['{"f":"x"}', '{"f":"y"}'])
  const prefilter = waiting.blocks.prefilter(requiredLiterals(parse('f:x'), new TextNames(DEFAULT)))
  assert.equal(prefilter(7n as SegmentId), true, 'unknown')
  assert.equal(prefilter(1n as SegmentId), false)
  waiting.remove(1)
  assert.equal(prefilter(1n as SegmentId), true, 'removed')
  const { block } = ingest.run(batchOf('{"f":"x"}')).segments[0]!
  assert.equal(waiting.blocks.add([8n as SegmentId], { ...block, isWhole: false }), undefined)

  const spooled = waitingFor(['{"f":"y"}'])
  const spool = memorySpool()
  spooled.spool(0, spool)
  assert.deepEqual(spooled.left('f:x'), [])
  spool.end()
  assert.deepEqual(spooled.left('f:x'), [0], 'its spool is over')
})

test('in blocks of the shared table literals are looked for at any place', () => {
  const lines = ['{"f":"abc"}', '{"g":["abc"]}', '{"f":"ab"}', '{"f":503}', '{"f":"x y"}']
  const waiting = sharedFor(lines)
  assert.deepEqual(waiting.left('f:abc'), [0, 1])
  assert.deepEqual(waiting.left('f:503'), [3])
  const { block } = ingest.run(batchOf('{"f":"abc"}')).segments[0]!
  waiting.blocks.add([20n, 21n] as SegmentId[], block)
  const prefilter = waiting.blocks.prefilter(
    requiredLiterals(parse('f:abd'), new TextNames(DEFAULT)),
  )
  assert.deepEqual([prefilter(20n as SegmentId), prefilter(21n as SegmentId)], [false, false])
})

test('a block that lacks paths of its events cannot be looked into', () => {
  const wide = Array.from({ length: 3_000 }, (_, i) => `"k${i}":"x"`).join(',')
  const { block, pathsSkipped } = ingest.run(batchOf(`{${wide}}`)).segments[0]!
  assert.ok(pathsSkipped > 0)
  assert.equal(block.isWhole, false)
})
