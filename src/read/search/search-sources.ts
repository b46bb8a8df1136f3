/** Where search finds events; the composition root passes in what asks the stores. */
import type { Query } from '../../language/query-tree.ts'
import type { RecordFormat } from '../../model/batch/segment-read.ts'
import type { EventKey, TimedKey } from '../../model/event-id.ts'
import type { SourceStream } from '../../model/field-catalog.ts'
import type {
  IdRange,
  PendingList,
  PendingSegment,
  SegmentExtent,
} from '../../model/segment-place.ts'
import type { IdQuestion, TimedQuestion } from '../../store/projection/reads/id-store.ts'
import type { TimeRange } from '../answer-coverage.ts'

/** An event, and its record where it was written when the event was found. */
export interface FoundEvent extends EventKey {
  readonly record?: Uint8Array
  /** Nanoseconds since 1970; of what was evaluated, and in the order of event times. */
  readonly timeNs?: bigint
}

/** How events are shown. */
export interface Shown {
  readonly format: RecordFormat
  /** Each record names its stream. */
  readonly includesStreamId: boolean
}

/** Where records are kept until they are shown. */
export interface RecordRoom extends Shown {
  bytesLeft: number
}

/** Which events, whatever their ids. */
export interface Wanted {
  readonly streams: readonly SourceStream[]
  readonly query: Query
  readonly queryText: string
  /** Where the producer's clock counts. */
  readonly eventTime: TimeRange | undefined
}

/** A range, and from which end it is read. */
export interface ReadingRange extends IdRange {
  readonly newestFirst: boolean
}

export type MatchQuestion = Wanted &
  Pick<IdQuestion, 'before' | 'after' | 'newestFirst' | 'limit'> & {
    /** Told of events of which nobody knows whether they match: damaged, or too much work. */
    readonly onUndecided: (events: number) => void
    /** No time is left. */
    readonly isLate: () => boolean
    /** Records of what matches are written at once while there is room; undefined: they are not. */
    readonly records: RecordRoom | undefined
  }

export interface Matched {
  /** In any order. */
  readonly events: readonly FoundEvent[]
  /** The first segment, in reading order, that there was no time for. */
  readonly unread: PendingSegment | undefined
}

export interface SearchSources {
  /** Where the range has segments; undefined when there are none. */
  readExtent(
    streams: readonly SourceStream[],
    range: ReadingRange,
  ): Promise<SegmentExtent | undefined>
  /**
   * The segments that the projection may lack, nearest to where reading begins; with `observed`
   * also the later ones.
   */
  listPending(
    streams: readonly SourceStream[],
    range: ReadingRange & Pick<IdQuestion, 'observed'>,
  ): Promise<PendingList>
  /** The same of all segments: what is read where there is no projection, or no need of it. */
  listAll(streams: readonly SourceStream[], range: ReadingRange): Promise<PendingList>
  /** The first events of the range by the projection, in reading order. */
  findIds(question: IdQuestion, signal: AbortSignal): Promise<readonly EventKey[]>
  /** The same in the order of event times. */
  findTimed(question: TimedQuestion, signal: AbortSignal): Promise<readonly TimedKey[]>
  /**
   * The events of these segments that match; at least the first `limit`. Segments that were removed
   * have none. However late it is, some segments are looked at.
   */
  match(
    question: MatchQuestion,
    segments: readonly PendingSegment[],
    signal: AbortSignal,
  ): Promise<Matched>
}

/**
 * Why a source gives no answer, when search can continue without it or say how far it got: the
 * projection is away, or time ran out.
 */
export class SourceFailure extends Error {
  readonly kind: 'away' | 'late'

  constructor(kind: 'away' | 'late', cause: unknown) {
    super(`the projection is ${kind}`, { cause })
    this.kind = kind
  }
}
