/**
 * Goal: which strings are searched word by word follows from names and from the event alone, and
 * never from other events. Method: tables.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../src/language/parse.ts'
import { TEXT_FIELDS_DEFAULT } from '../../src/model/text-fields.ts'
import { Evaluator } from '../../workers/evaluate/evaluator.ts'
import { TapedBatch } from './taped-batch.ts'

function find(events: readonly string[], query: string, textFields: readonly string[]): number[] {
  const batch = new TapedBatch()
  batch.load(events, { segmentId: '1', ingestedAtMs: 0, firstEvent: 0 })
  const { cursor } = batch
  const evaluator = new Evaluator(parse(query), textFields)
  evaluator.begin(cursor)
  return events.flatMap((_, ordinal) => {
    cursor.moveTo(ordinal)
    return evaluator.matches(cursor) ? [ordinal] : []
  })
}

const EVENTS = [
  '{"note":"Card declined","n":200}',
  '{"a":{"b":"the card"},"tags":["declined"],"n":"200"}',
  '{"items":[{"name":"card"}]}',
  '{"message":"declined","note":"card"}',
]

/** Ordinals of the events that match, by names that none has, and with `tags` and `note`. */
const CASES: readonly (readonly [query: string, none: number[], named: number[]])[] = [
  ['declined', [0, 1, 3], [0, 1]],
  ['CARD', [0, 1, 2, 3], [0, 1, 2, 3]],
  ['"card declined"', [0], [0]],
  ['decl*', [0, 1, 3], [0, 1]],
  ['NOT card', [], []],
  ['200', [1], [1]],
  ['note:declined', [], [0]],
  ['note:"Card declined"', [0], [0]],
  ['note=declined', [], []],
  ['n:200', [0, 1], [0, 1]],
  ['tags:DECLINED', [], [1]],
  ['tags[]:DECLINED', [], [1]],
  ['a.*:card', [], []],
  ['*:card', [2, 3], [0, 2, 3]],
  ['items[].name:card', [2], [2]],
  ['items[]:{name:CARD}', [], []],
]

test('words are found in the text fields, or in all strings of an event that has none', () => {
  for (const [query, none, named] of CASES) {
    assert.deepEqual(find(EVENTS, query, ['nowhere']), none, query)
    assert.deepEqual(find(EVENTS, query, ['tags', 'note']), named, `${query}, named`)
  }
})

/** Of one event: what finds it, and what does not. */
const BY_NAME: readonly (readonly [event: string, yes: string, no: string])[] = [
  ['{"Level":"Error","Message":"connection to db01 timed out"}', 'timed', 'error'],
  ['{"Level":"Error","Message":"connection to db01 timed out"}', 'Message:TIMED', 'Level:error'],
  ['{"a":{"b":{"MSG":"Timed out"}},"host":"web-1"}', 'a.b.MSG:timed', 'web'],
  ['{"host":"web-1"}', 'web', 'host:web'],
  ['{"@mt":"Timed {Out}"}', '@mt:out', '@mt=out'],
  ['{"errors":[{"reason":"Timed out"}]}', 'errors[].reason:timed', 'errors[].reason=timed'],
  ['{"errors":[{"reason":"Timed out"}]}', 'errors[]:{reason:timed}', 'errors[]:{reason=timed}'],
  ['{"errors":[{"code":"Timed out"}]}', 'timed', 'errors[].code:timed'],
  // The last of duplicate keys counts, and of a path that is spelled in two ways.
  ['{"a":{"message":"x"},"a.message":5,"note":"b"}', 'b', 'x'],
  ['{"message":"a","message":5,"note":"b"}', 'b', 'a'],
  ['{"message":5,"note":"b"}', 'b', 'message:b'],
  ['{"message":["a"],"note":"b"}', 'a AND b', 'note:B'],
  ['{"message":"","note":"b"}', 'NOT b', 'b'],
]

test('a field is text by its last name, at any depth and in any case', () => {
  for (const [event, yes, no] of BY_NAME) {
    assert.deepEqual(find([event], yes, TEXT_FIELDS_DEFAULT), [0], `${yes} in ${event}`)
    assert.deepEqual(find([event], no, TEXT_FIELDS_DEFAULT), [], `${no} in ${event}`)
  }
})

test('an event is found or not whatever other events are beside it', () => {
  const others = ['{"message":"deploy marker"}', '{"x":{"text":"y"}}', '{"a":1}']
  for (const [event, yes, no] of BY_NAME) {
    for (const beside of [
      [event, ...others],
      [...others, event],
      [others[0]!, event, others[1]!],
    ]) {
      const at = beside.indexOf(event)
      assert.ok(find(beside, yes, TEXT_FIELDS_DEFAULT).includes(at), yes)
      assert.ok(!find(beside, no, TEXT_FIELDS_DEFAULT).includes(at), no)
    }
  }
})

test('past any number of other strings', () => {
  const strings = Array.from({ length: 300 }, (_, n) => `"s${n}":"value"`).join()
  const events = [`{"MESSAGE":"timeout",${strings}}`, `{${strings},"z":"timeout"}`]
  assert.deepEqual(find(events, 'timeout', TEXT_FIELDS_DEFAULT), [0, 1])
})
