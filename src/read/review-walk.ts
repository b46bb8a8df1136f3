/**
 * Review of a range: reads its segments, newest first, and has workers look at their events.
 *
 *   list segments -> fetch payloads -> tasks of about REVIEW_TASK_BYTES -> pool -> totals
 *
 * A few tasks are under way at a time, and their results are added in order. So wherever the walk
 * stops, the answer covers all events from the newest down to one, where the next walk continues:
 * the walk may stop at any time, because of its limits or because the client went away.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { IngestError } from '../errors.ts'
import {
  REVIEW_DAMAGED_MAX,
  REVIEW_MS_MAX,
  REVIEW_REST_MS_MAX,
  REVIEW_TASKS_MAX,
  SEGMENT_EVENTS_MAX,
} from '../limits.ts'
import type { SegmentRead } from '../model/batch/segment-read.ts'
import type { EventId } from '../model/event-id.ts'
import type { ReviewedEvents, ReviewQuery } from '../model/redact/redaction.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { SegmentInfo } from '../model/segment-place.ts'
import type { StreamId } from '../model/stream.ts'
import type { EventStore } from '../store/raw/event-store.ts'
import { pageWithin, planPage, type SegmentSlice, segmentsToList } from './event-page.ts'
import { ReviewTotals } from './review-totals.ts'
import { fetchSlices } from './segment-reads.ts'

/** Events that it lists at a time. */
export const REVIEW_PAGE_EVENTS = 16_384
/** Bytes of events of one of its tasks; a single segment may have more. */
export const REVIEW_TASK_BYTES = 1024 * 1024
/** While ingest is busy it has one at a time, and rests for so many times as long as that took… */
export const REVIEW_REST_FACTOR = 3

export interface ReviewRange {
  readonly streamId: StreamId
  /** Segments with `from <= id < to`. */
  readonly from: bigint
  readonly to: bigint
  /** Exclusive. */
  readonly before: EventId | undefined
  readonly eventsMax: number
}

export interface ReviewRules {
  readonly redactFields: readonly string[]
  readonly query: ReviewQuery | undefined
}

/** Runs in the pool; `signal` cancels it only until it has a thread. */
export type ReviewSegments = (
  request: ReviewRules & { readonly reads: readonly SegmentRead[] },
  signal: AbortSignal,
) => Promise<ReviewedEvents>

export interface DamagedSegment {
  readonly segmentId: string
  readonly events: number
}

export interface ReviewOutcome {
  readonly totals: ReviewTotals
  /** The first of them, the newest. */
  readonly damaged: readonly DamagedSegment[]
  readonly eventsDamaged: number
  /** Why part of the range was not reviewed, if so; the next review continues before `next`. */
  readonly stopped: 'events' | 'time' | undefined
  readonly next: EventId | undefined
}

interface Task {
  readonly reads: readonly SegmentRead[]
  readonly reviewed: Promise<ReviewedEvents>
}

interface WalkDeps {
  readonly events: EventStore
  readonly reviewSegments: ReviewSegments
  /** Whether ingest is busy, so that the review should slow down. */
  readonly shouldYieldToIngest: () => boolean
  readonly msMax?: number
}

export class ReviewWalk {
  readonly #deps: WalkDeps
  readonly #range: ReviewRange
  readonly #rules: ReviewRules
  readonly #msMax: number
  readonly #totals = new ReviewTotals()
  readonly #damaged: DamagedSegment[] = []
  #eventsDamaged = 0
  /** Down to where results were added, and down to where segments were listed. */
  #told: EventId | undefined
  #started: EventId | undefined
  #eventsLeft: number
  #tasks: Task[] = []
  #taskStartedAt: number | undefined

  constructor(deps: WalkDeps, range: ReviewRange, rules: ReviewRules) {
    this.#deps = deps
    this.#range = range
    this.#rules = rules
    this.#msMax = deps.msMax ?? REVIEW_MS_MAX
    this.#told = range.before
    this.#started = range.before
    this.#eventsLeft = range.eventsMax
  }

  /** Throws `unavailable` when `signal` is aborted, or nothing could be reviewed in time. */
  async run(signal: AbortSignal): Promise<ReviewOutcome> {
    const stop = new AbortController()
    let onGone = () => {}
    let timer: NodeJS.Timeout | undefined
    const ended = new Promise<'time'>((resolve, reject) => {
      onGone = () => reject(new IngestError('unavailable', 'the client went away'))
      timer = setTimeout(() => resolve('time'), this.#msMax)
    })
    signal.addEventListener('abort', onGone)
    try {
      if (signal.aborted) onGone()
      const walked = this.#walk(stop.signal)
      walked.catch(() => undefined) // After a timeout nobody waits for it.
      return this.#outcome(await Promise.race([ended, walked]))
    } finally {
      stop.abort()
      clearTimeout(timer)
      signal.removeEventListener('abort', onGone)
    }
  }

  #outcome(stopped: ReviewOutcome['stopped']): ReviewOutcome {
    if (stopped === 'time' && this.#told === this.#range.before) {
      const limit = `${this.#msMax} ms (REVIEW_MS_MAX)`
      const text = `no event could be looked at within ${limit}: the service is busy`
      throw new IngestError('unavailable', text)
    }
    return {
      totals: this.#totals,
      damaged: this.#damaged,
      eventsDamaged: this.#eventsDamaged,
      stopped,
      next: stopped === undefined ? undefined : this.#told,
    }
  }

  /** Why it ended before the range did, if so. */
  async #walk(signal: AbortSignal): Promise<'events' | undefined> {
    while (!signal.aborted) {
      const limit = Math.min(this.#eventsLeft, REVIEW_PAGE_EVENTS)
      const query = pageWithin(this.#range, { limit, before: this.#started, after: undefined })
      const { streamId } = this.#range
      const { start, end } = query
      const range = { streamId, start, end, newestFirst: true, limit: segmentsToList(query) }
      const segments = await this.#deps.events.listSegments(range)
      const { slices, hasMore } = planPage(query, segments)
      await this.#review(slices, segments, signal)
      this.#started = slices.length === 0 ? this.#started : oldestOf(slices)
      if (!hasMore || this.#eventsLeft <= 0) {
        await this.#settle(0, signal)
        return hasMore ? 'events' : undefined
      }
    }
    return undefined // Nobody waits for the result.
  }

  /** Starts the tasks of a page, a few at a time; the last ones are under way when it ends. */
  async #review(
    slices: readonly SegmentSlice[],
    segments: readonly SegmentInfo[],
    signal: AbortSignal,
  ): Promise<void> {
    const sizes = new Map(segments.map((each) => [String(each.segmentId), bytesOfEvent(each)]))
    const bytesOf = ({ segmentId, fromOrdinal, toOrdinal }: SegmentRead) =>
      (sizes.get(segmentId) ?? 0) * (toOrdinal - fromOrdinal)
    for await (const reads of fetchSlices(this.#deps.events, this.#range.streamId, slices)) {
      for (const some of cutIntoTasks(reads, bytesOf)) {
        if (this.#deps.shouldYieldToIngest()) await this.#rest(signal)
        else await this.#settle(REVIEW_TASKS_MAX - 1, signal)
        if (signal.aborted) return
        this.#start(some, signal)
      }
    }
  }

  #start(reads: readonly SegmentRead[], signal: AbortSignal): void {
    this.#taskStartedAt = performance.now()
    const reviewed = this.#deps.reviewSegments({ ...this.#rules, reads }, signal)
    reviewed.catch(() => undefined) // It is awaited when its turn comes.
    this.#tasks.push({ reads, reviewed })
    for (const { fromOrdinal, toOrdinal } of reads) this.#eventsLeft -= toOrdinal - fromOrdinal
  }

  /** Waits for what is under way, and then for longer than the last task took. */
  async #rest(signal: AbortSignal): Promise<void> {
    if (this.#taskStartedAt === undefined) return
    await this.#settle(0, signal)
    const workedMs = performance.now() - this.#taskStartedAt
    const cooldownMs = Math.min(workedMs * REVIEW_REST_FACTOR, REVIEW_REST_MS_MAX)
    // `signal` is looked at next.
    await sleep(cooldownMs, undefined, { signal }).catch(() => undefined)
  }

  /** Adds what the oldest tasks found until `left` are under way. */
  async #settle(left: number, signal: AbortSignal): Promise<void> {
    while (this.#tasks.length > left) {
      const { reads, reviewed } = this.#tasks[0]!
      const found = await reviewed
      if (signal.aborted) return // The answer is on its way.
      this.#tasks.shift()
      this.#totals.add(found)
      for (const { index } of found.damaged) this.#addDamaged(reads[index]!)
      this.#told = oldestOf(reads)
    }
  }

  #addDamaged({ segmentId, fromOrdinal, toOrdinal }: SegmentRead): void {
    const events = toOrdinal - fromOrdinal
    this.#eventsDamaged += events
    if (this.#damaged.length < REVIEW_DAMAGED_MAX) this.#damaged.push({ segmentId, events })
  }
}

/** The last event of some segments' events, newest first. */
function oldestOf(reads: readonly (SegmentSlice | SegmentRead)[]): EventId {
  const { segmentId, fromOrdinal } = reads.at(-1)!
  return { segmentId: BigInt(segmentId) as SegmentId, ordinal: fromOrdinal }
}

function bytesOfEvent({ rawBytes, eventCount }: SegmentInfo): number {
  return rawBytes / eventCount
}

/**
 * Groups reads into tasks of about REVIEW_TASK_BYTES, so that a task is short and others get their
 * turns. Reads that share a payload stay together: it is decoded once.
 */
export function* cutIntoTasks(
  reads: readonly SegmentRead[],
  bytesOf: (read: SegmentRead) => number,
): Generator<readonly SegmentRead[]> {
  let some: SegmentRead[] = []
  let bytes = 0
  let events = 0
  for (const read of reads) {
    const more = read.toOrdinal - read.fromOrdinal
    const isFull = bytes + bytesOf(read) > REVIEW_TASK_BYTES || events + more > SEGMENT_EVENTS_MAX
    if (isFull && some.length > 0 && some.at(-1)?.payload !== read.payload) {
      yield some
      some = []
      bytes = 0
      events = 0
    }
    some.push(read)
    bytes += bytesOf(read)
    events += more
  }
  if (some.length > 0) yield some
}
