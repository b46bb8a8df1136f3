/**
 * Goal: in a stream without any of its text fields, words are looked for in all strings of an
 * event, those of paths that nobody has met before, too. Method: a table.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../src/language/parse.ts'
import { Evaluator } from '../../workers/evaluate/evaluator.ts'
import { TapedBatch } from './taped-batch.ts'

const EVENTS = [
  '{"note":"Card declined","n":200}',
  '{"a":{"b":"the card"},"tags":["declined"],"n":"200"}',
  '{"items":[{"name":"card"}]}',
]

/** Ordinals of the events that match, without known text fields and with `tags` among them. */
const CASES: readonly (readonly [query: string, none: number[], withTags: number[]])[] = [
  ['declined', [0], [0, 1]],
  ['CARD', [0, 1], [0, 1]],
  ['"card declined"', [0], [0]],
  ['decl*', [0], [0, 1]],
  ['NOT card', [2], [2]],
  ['200', [1], [1]],
  ['note:declined', [0], [0]],
  ['note=declined', [], []],
  ['note="Card declined"', [0], [0]],
  ['n:200', [0, 1], [0, 1]],
  ['tags:DECLINED', [], [1]],
  ['tags:declined', [1], [1]],
  ['a.*:card', [1], [1]],
  ['*:card', [0, 1, 2], [0, 1, 2]],
  ['items[].name:card', [2], [2]],
  ['items[]:{name:CARD}', [], []],
]

test('words are found in every string outside of arrays', () => {
  const batch = new TapedBatch()
  batch.load(EVENTS, { segmentId: '1', ingestedAtMs: 0, firstEvent: 0 })
  const { cursor } = batch
  for (const [query, none, withTags] of CASES) {
    for (const [textFields, expected] of [[[], none] as const, [['tags'], withTags] as const]) {
      const evaluator = new Evaluator(parse(query), { textFields, isAllText: true })
      evaluator.begin(cursor)
      const found = EVENTS.flatMap((_, ordinal) => {
        cursor.moveTo(ordinal)
        return evaluator.matches(cursor) ? [ordinal] : []
      })
      assert.deepEqual(found, expected, `${query}, text fields ${textFields}`)
    }
  }
})

const NEW_CASES: readonly (readonly [query: string, found: number[]])[] = [
  ['declined', [0, 2]],
  ['note:declined', [2]],
  ['note="card declined"', [0, 2]],
  ['note:/DECLINED/i', [0, 1, 2]],
  ['NOT declined', [1]],
  ['NOT note:declined', [0, 1]],
  ['*:declined', [0, 2]],
  ['message:card', [0]],
  ['n:200', [0, 1, 2]],
]

test('of a new stream each event shows itself whether it has a text field', () => {
  const batch = new TapedBatch()
  const events = [
    '{"message":"a card was declined","note":"card declined","n":200}',
    '{"message":"all is well","note":"not declined","n":200}',
    '{"note":"card declined","n":"200 ms"}',
  ]
  batch.load(events, { segmentId: '1', ingestedAtMs: 0, firstEvent: 0 })
  const { cursor } = batch
  const text = { textFields: ['message', 'msg'], isAllText: true, isNew: true }
  for (const [query, expected] of NEW_CASES) {
    const evaluator = new Evaluator(parse(query), text)
    evaluator.begin(cursor)
    const found = events.flatMap((_, ordinal) => {
      cursor.moveTo(ordinal)
      return evaluator.matches(cursor) ? [ordinal] : []
    })
    assert.deepEqual(found, expected, query)
  }
})
