/**
 * All that a worker does to tell which events some queries match: of a stored segment, and of one
 * that ingest has on the tape.
 */
import { MATCH_EVENTS_MAX } from '../../src/limits.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { EventFacts } from '../../workers/facts/event-facts.ts'
import { MatchPipeline } from '../../workers/match.ts'
import { TailMatcher } from '../../workers/tail-matcher.ts'
import type { MicroBench } from '../bench.ts'
import { TapeBatch } from '../decode/tape-batch.ts'
import { filterOf } from '../tail/filters.ts'
import { storedSegment } from './replay.bench.ts'

function matchBench(name: string, title: string, texts: readonly string[]): MicroBench {
  return {
    name: `ingest/${name}`,
    title: `matching a stored segment, ${title}`,
    kind: 'json',
    prepare: (batch) => {
      const payload = storedSegment(batch, 'ndjson')
      const range = { fromOrdinal: 0, toOrdinal: batch.lines.length, newestFirst: true }
      const reads = [{ segmentId: '1', ingestedAtMs: 0, payload, ...range }]
      const queries = texts.map((text) => {
        return { text, textFields: ['message'], eventTime: undefined, limit: MATCH_EVENTS_MAX }
      })
      const pipeline = new MatchPipeline()
      return () => pipeline.run({ reads, queries, withRecords: true }).events.count
    },
  }
}

function sieveBench(name: string, title: string, texts: readonly string[]): MicroBench {
  return {
    name: `ingest/${name}`,
    title: `matching what is on the tape, ${title}`,
    kind: 'json',
    prepare: (batch) => {
      const { tape, bytes, events } = new TapeBatch(batch)
      const facts = new EventFacts()
      facts.describe(tape, bytes, events)
      const taped = { tape, bytes, events, facts }
      const range = { first: 0, count: events.count }
      const json = JSON.stringify([['message'], ...texts])
      const watched = { streamId: 1 as StreamId, setId: 1, json }
      const sieve = new TailMatcher()
      return () => {
        const { found } = sieve.run(taped, range, watched)
        if (found === undefined) throw new Error('more than may be spent')
        return found.ordinals.length
      }
    },
  }
}

const ONE = ['level:error timeout']
const TAILS = Array.from({ length: 64 }, (_, at) => filterOf(at))

export const matchBenches: readonly MicroBench[] = [
  matchBench('match', 'one query', ONE),
  matchBench('match-64', '64 queries', TAILS),
  sieveBench('sieve', 'one query', ONE),
  sieveBench('sieve-64', '64 queries', TAILS),
]
