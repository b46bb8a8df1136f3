/**
 * What an export could not give of what there was when it began, so that its end can say so: events
 * of damaged segments, those that a query could not be decided of, and what retention removed
 * before it was read.
 */
import { EXPORT_DAMAGED_MAX } from '../../limits.ts'
import type { SourceStream } from '../../model/field-catalog.ts'
import type { IdRange } from '../../model/segment-place.ts'
import type { DamagedSegment } from './read-records.ts'
import { UNLEARNED_FIELDS } from './search.ts'

export class ExportLosses {
  /** The first of them. */
  readonly #damaged: DamagedSegment[] = []
  #damagedEvents = 0
  #undecided = 0
  #isRemoved = false
  #isUnlearned = false
  /** Marks of the streams when they were looked at last. */
  readonly #marks = new Map<number, bigint>()

  addDamaged(damaged: readonly DamagedSegment[]): void {
    for (const segment of damaged) {
      this.#damagedEvents += segment.events
      if (this.#damaged.length < EXPORT_DAMAGED_MAX) this.#damaged.push(segment)
    }
  }

  addUndecided(events: number): void {
    this.#undecided += events
  }

  /** A segment was found and then gone. */
  addRemoved(events: number): void {
    this.#isRemoved ||= events > 0
  }

  /** Fields that the query means were never learned. */
  addUnlearned(): void {
    this.#isUnlearned = true
  }

  /** Looks at the streams' marks; `unread` is the part of the range that was not read yet. */
  watchMarks(streams: readonly SourceStream[], unread: IdRange): void {
    for (const { streamId, removedBefore } of streams) {
      const before = this.#marks.get(streamId) ?? removedBefore
      const isUnread = removedBefore > unread.start && before < unread.end
      this.#isRemoved ||= removedBefore > before && isUnread
      this.#marks.set(streamId, removedBefore)
    }
  }

  /** Undefined when all was given. */
  get reason(): string | undefined {
    const reasons = [
      ...(this.#damagedEvents > 0 ? [`${this.#damagedEvents} events are in damaged segments`] : []),
      ...(this.#undecided > 0
        ? [`${this.#undecided} events were passed over: damaged, or too much work for this query`]
        : []),
      ...(this.#isRemoved ? ['retention removed events before they were read'] : []),
      ...(this.#isUnlearned ? [UNLEARNED_FIELDS] : []),
    ]
    return reasons.length === 0 ? undefined : reasons.join('; ')
  }

  /** The members of the last line of an export that is not complete. */
  get members() {
    return {
      complete: false,
      reason: this.reason,
      ...(this.#damaged.length > 0 && {
        damaged: this.#damaged.map(({ segmentId, events }) => ({ segment_id: segmentId, events })),
      }),
    }
  }
}
