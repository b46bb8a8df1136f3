/** A request for patterns, as its schema cannot say it. */
import type { Schema } from '../../api/schema.ts'
import { IngestError } from '../../errors.ts'
import { PATTERNS_DEFAULT, PATTERNS_MAX } from '../../limits.ts'
import type { PatternSort } from '../../store/projection/reads/patterns-store.ts'
import type { TimeRange } from '../answer-coverage.ts'
import { type ReadMembers, type ReadRequest, readRequest } from '../read-request.ts'
import { MOMENT_NS_MIN, momentWords, readMoment } from '../read-time.ts'
import { READ_PROPERTIES } from '../schemas.ts'

/** As `PatternSort` has them. */
const SORTS = ['count', 'new', 'growth'] as const satisfies readonly PatternSort[]

const MOMENT = { type: 'string', must: momentWords, examples: ['-2d'] } as const

export const PATTERNS_PROPERTIES = {
  ...READ_PROPERTIES,
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: PATTERNS_MAX,
    default: PATTERNS_DEFAULT,
    description: 'How many rows',
  },
  baseline: {
    type: 'object',
    properties: { from: MOMENT, to: MOMENT },
    required: ['from', 'to'],
    description: 'A range to compare with; for `new` and `growth` by default the one before',
  },
  sort: {
    type: 'string',
    enum: SORTS,
    default: 'count',
    description: 'The most frequent first; those not in `baseline`; those that grew most',
  },
} as const satisfies Readonly<Record<string, Schema>>

export interface PatternsRequest extends ReadRequest {
  readonly limit: number
  readonly sort: PatternSort
  readonly baseline: TimeRange | undefined
}

/** `members` are as `PATTERNS_PROPERTIES` say. Throws `malformed`. */
export function readPatternsRequest(members: ReadMembers, nowMs: number): PatternsRequest {
  const { limit = PATTERNS_DEFAULT, sort = 'count', baseline } = members
  const request = readRequest(members, nowMs)
  const given = baseline as { readonly from: string; readonly to: string } | undefined
  return {
    ...request,
    limit: limit as number,
    sort: sort as PatternSort,
    baseline:
      given === undefined ? rangeBefore(request, sort as PatternSort) : readBaseline(given, nowMs),
  }
}

function readBaseline(given: { readonly from: string; readonly to: string }, nowMs: number) {
  const fromNs = readMoment('baseline.from', given.from, nowMs)
  const toNs = readMoment('baseline.to', given.to, nowMs)
  if (fromNs < toNs) return { fromNs, toNs }
  throw new IngestError('malformed', '"baseline.from" must be before "baseline.to"')
}

/** As long a range, right before. */
function rangeBefore({ fromNs, toNs }: TimeRange, sort: PatternSort): TimeRange | undefined {
  if (sort === 'count') return undefined
  const start = fromNs - (toNs - fromNs)
  if (start >= MOMENT_NS_MIN) return { fromNs: start, toNs: fromNs }
  throw new IngestError('malformed', `"sort": "${sort}" needs "baseline" for so long a range`)
}
