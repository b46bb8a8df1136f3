/** All that a worker does to tell which events of a stored segment some queries match. */
import { MATCH_EVENTS_MAX } from '../../src/limits.ts'
import { MatchPipeline } from '../../workers/match.ts'
import type { MicroBench } from '../bench.ts'
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

const TAILS = Array.from({ length: 64 }, (_, at) => {
  return `service:checkout -level:debug http.status:>=${at} (timeout OR refused)`
})

export const matchBenches: readonly MicroBench[] = [
  matchBench('match', 'one query', ['level:error timeout']),
  matchBench('match-64', '64 queries', TAILS),
]
