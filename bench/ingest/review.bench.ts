/** All that a worker does to say what redaction would change in a stored segment. */
import { ReviewPipeline } from '../../workers/review.ts'
import type { MicroBench } from '../bench.ts'
import { storedSegment } from './replay.bench.ts'

function reviewBench(name: string, title: string, redactFields: readonly string[]): MicroBench {
  return {
    name: `ingest/${name}`,
    title: `review of a stored segment, ${title}`,
    kind: 'json',
    prepare: (batch) => {
      const payload = storedSegment(batch, 'ndjson')
      const events = batch.lines.length
      const range = { segmentId: '1', ingestedAtMs: 0, fromOrdinal: 0, toOrdinal: events }
      const request = {
        reads: [{ ...range, payload, newestFirst: true }],
        redactFields,
        query: undefined,
      }
      const pipeline = new ReviewPipeline()
      return () => {
        const reviewed = pipeline.run(request)
        if (reviewed.events !== events) throw new Error(`${reviewed.events} events`)
      }
    },
  }
}

export const reviewBenches: readonly MicroBench[] = [
  reviewBench('review', 'no hits', []),
  reviewBench('review-hits', '2 of redact_fields in each', ['http.ip', 'user.id']),
]
