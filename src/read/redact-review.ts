/**
 * Review before switching on: what redaction would change in events that are stored already, by
 * path and reason, by the worker code of ingest. Reads, and stores nothing.
 *
 * What it tells of values is masked (`workers/transform/redact/masked-sample.ts`); it needs the
 * scope that shows the events themselves all the same.
 */
import type { ObjectSchema } from '../api/schema.ts'
import { REVIEW_EVENTS_MAX, REVIEW_PATHS_MAX } from '../limits.ts'
import { formatEventId } from '../model/event-id.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Stream } from '../model/stream.ts'
import type { EventStore } from '../store/raw/event-store.ts'
import { idBound, readCursor } from './event-page.ts'
import { type ReadMembers, readQueryText, readTimeRange } from './read-request.ts'
import {
  type ReviewOutcome,
  type ReviewRange,
  type ReviewRules,
  type ReviewSegments,
  ReviewWalk,
} from './review-walk.ts'
import { READ_PROPERTIES } from './schemas.ts'
import { readRedactFields, STREAM_CHANGES } from './stream-settings.ts'

export interface ReviewDeps {
  readonly events: EventStore
  readonly reviewSegments: ReviewSegments
  readonly shouldYieldToIngest?: () => boolean
  readonly nowMs?: () => number
  /** In place of REVIEW_MS_MAX. */
  readonly msMax?: number
}

const { query, from, to } = READ_PROPERTIES

/** The members of a review. */
export const REVIEW_REQUEST = {
  type: 'object',
  properties: {
    from: { ...from, description: 'Receipt time; an hour before `to` when left out' },
    to: { ...to, description: 'Receipt time; not itself in the range' },
    query: { ...query, description: 'Only events that match are reviewed: the query language' },
    redact_fields: {
      ...STREAM_CHANGES.properties.redact_fields,
      default: undefined,
      description: "More paths to redact; the stream's own when left out",
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: REVIEW_EVENTS_MAX,
      default: REVIEW_EVENTS_MAX,
      description: 'Events to look at, the newest first',
    },
    before: {
      type: 'string',
      description: 'The `next` of the review before: goes on with the events right before it',
    },
  },
} as const satisfies ObjectSchema
interface Asked extends ReviewRules {
  readonly range: ReviewRange
  readonly fromMs: number
  readonly toMs: number
}

/** What redaction would change, as JSON. `body` is as `REVIEW_REQUEST` says. Throws `malformed`. */
export async function reviewRedaction(
  deps: ReviewDeps,
  body: ReadMembers,
  stream: Stream,
  signal: AbortSignal,
): Promise<string> {
  const { nowMs = Date.now, shouldYieldToIngest = () => false } = deps
  const asked = readReview(body, stream, nowMs())
  const startMs = performance.now()
  const outcome = await new ReviewWalk({ ...deps, shouldYieldToIngest }, asked.range, asked).run(
    signal,
  )
  return tellReview(asked, outcome, performance.now() - startMs)
}

function readReview(body: ReadMembers, stream: Stream, nowMs: number): Asked {
  const { fromNs, toNs } = readTimeRange(body, nowMs)
  const { query: text = '', redact_fields: redactFields, before, limit } = body
  const query = readQueryText('query', text as string)
  return {
    range: {
      streamId: stream.streamId,
      from: idBound(fromNs),
      to: idBound(toNs),
      before: readCursor('before', before),
      eventsMax: Number(limit ?? REVIEW_EVENTS_MAX),
    },
    fromMs: timeMs(fromNs),
    toMs: timeMs(toNs),
    query:
      query.kind === 'all' ? undefined : { text: text as string, textFields: stream.textFields },
    redactFields: redactFields === undefined ? stream.redactFields : readRedactFields(redactFields),
  }
}

function tellReview(asked: Asked, outcome: ReviewOutcome, elapsedMs: number): string {
  const { totals, damaged, eventsDamaged, stopped, next } = outcome
  const { changes } = totals
  const { undecided, ...counts } = totals.counts
  const shown = changes.slice(0, REVIEW_PATHS_MAX)
  const left = changes.slice(REVIEW_PATHS_MAX)
  const isCut = left.length > 0 || totals.valuesLeft > 0
  const reasons = [
    ...(stopped === undefined ? [] : [stopped]),
    ...(eventsDamaged > 0 ? ['damaged'] : []),
    ...(undecided > 0 ? ['cost'] : []),
    ...(isCut ? ['paths'] : []),
  ]
  return JSON.stringify({
    from: formatTimeMs(asked.fromMs),
    to: formatTimeMs(asked.toMs),
    ...counts,
    ...(undecided > 0 && { undecided }),
    changes: shown.map(({ eventIds, ...change }) => ({ ...change, event_ids: eventIds })),
    ...(isCut && {
      more: {
        paths: left.length,
        values: left.reduce((sum, { values }) => sum + values, totals.valuesLeft),
        // Of paths past those that are held only the values were counted.
        at_least: totals.valuesLeft > 0,
      },
    }),
    partial: reasons.length > 0,
    partial_reasons: reasons,
    ...(eventsDamaged > 0 && {
      events_damaged: eventsDamaged,
      damaged: damaged.map(({ segmentId, events }) => ({ segment_id: segmentId, events })),
    }),
    next: next === undefined ? null : formatEventId(next),
    stats: { elapsed_ms: Math.round(elapsedMs) },
  })
}

const NS_PER_MS = 1_000_000n

/** Within what a date can be; the range itself is compared exactly. */
function timeMs(ns: bigint): number {
  return Number(ns / NS_PER_MS)
}
