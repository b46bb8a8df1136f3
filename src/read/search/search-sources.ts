/** Where search finds events; the composition root passes in what asks the stores. */
import type { Query } from '../../language/query-tree.ts'
import type { EventId } from '../../model/event-id.ts'
import type {
  IdRange,
  PendingList,
  PendingSegment,
  SegmentExtent,
} from '../../model/pending-segments.ts'
import type { Stream } from '../../model/stream.ts'
import type { TimeRange } from '../honest-answer.ts'
import type { EventKey } from './event-key.ts'

/** Which events, whatever their ids. */
export interface Wanted {
  readonly streams: readonly Stream[]
  readonly query: Query
  readonly queryText: string
  /** Where the producer's clock counts. */
  readonly eventTime: TimeRange | undefined
}

export interface IdQuestion extends Wanted {
  readonly range: IdRange
  /** Exclusive. */
  readonly before: EventId | undefined
  readonly after: EventId | undefined
  readonly newestFirst: boolean
  readonly limit: number
  /** How long it may take. */
  readonly msMax: number
}

export interface SearchSources {
  /** Where the range has segments; undefined when there are none. */
  readExtent(
    streams: readonly Stream[],
    range: IdRange & { readonly newestFirst: boolean },
  ): Promise<SegmentExtent | undefined>
  /** Segments that the projection may lack, next to where reading begins; all with `isAll`. */
  listPending(
    streams: readonly Stream[],
    range: IdRange & { readonly newestFirst: boolean; readonly isAll: boolean },
  ): Promise<PendingList>
  /** The first events of the range by the projection, in reading order. */
  findIds(question: IdQuestion, signal: AbortSignal): Promise<readonly EventKey[]>
  /** The events of these segments that match, in any order. Those that are gone have none. */
  match(
    wanted: Wanted,
    segments: readonly PendingSegment[],
    signal: AbortSignal,
  ): Promise<readonly EventKey[]>
}

/** Why a source gives no answer, where search can go on without. */
export class SourceFailure extends Error {
  readonly kind: 'away' | 'late'

  constructor(kind: 'away' | 'late', cause: unknown) {
    super(`the projection is ${kind}`, { cause })
    this.kind = kind
  }
}
