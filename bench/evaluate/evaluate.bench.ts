/**
 * Whether events that are on the tape match a query, by its form: what search and live tails pay an
 * event and query beside decoding, which all queries of a task share.
 */
import { parse } from '../../src/language/parse.ts'
import { Evaluator } from '../../workers/evaluate/evaluator.ts'
import { EventCursor } from '../../workers/evaluate/event-cursor.ts'
import { EventFacts } from '../../workers/facts/event-facts.ts'
import type { MicroBench } from '../bench.ts'
import { TapeBatch } from '../decode/tape-batch.ts'

const QUERIES = [
  ['all', ''],
  ['equality', 'level:error'],
  ['absent', 'nothing.like.it:x'],
  ['level', '_level:>=warn'],
  ['number', 'http.status:>=500'],
  ['time', 'timestamp:>=2025-11-21T10:00:00Z'],
  ['word', 'timeout'],
  ['phrase', '"connection reset by"'],
  ['wildcard', 'http.url:/api/*/track*'],
  ['word-prefix', 'time*'],
  ['regex', 'message:/tim(ed )?out|refused/'],
  ['any-field', '*:checkout'],
  ['several', 'level:error http.status:>=500 -http.url:/static/* timeout'],
] as const

export const evaluateBenches: readonly MicroBench[] = QUERIES.map(([name, query]) => ({
  name: `evaluate/${name}`,
  title: query === '' ? 'the empty query' : `\`${query}\``,
  kind: 'json',
  prepare: (batch) => {
    const { tape, bytes, events } = new TapeBatch(batch)
    const facts = new EventFacts()
    facts.describe(tape, bytes, events)
    const cursor = new EventCursor()
    cursor.begin({ tape, bytes, events, facts })
    const evaluator = new Evaluator(parse(query), ['message'])
    evaluator.begin(cursor)
    return () => {
      let matches = 0
      for (let event = 0; event < events.count; event++) {
        cursor.moveTo(event)
        if (evaluator.matches(cursor)) matches++
      }
      return matches
    }
  },
}))
