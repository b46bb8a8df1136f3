/** Payloads of committed segments: from memory, or from their rows in the raw store. */

import type { SegmentRead } from '../model/batch/segment-read.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import { placeOf, rowKeyText, type SegmentInfo, type SegmentPlace } from '../model/segment-place.ts'
import type { StreamId } from '../model/stream.ts'
import type { MatchResult, MatchTask } from '../pool/messages.ts'

/** What is needed of the raw store about a stream's segments; `EventStore` has it. */
export interface SegmentSource {
  listSegments(range: {
    readonly streamId: StreamId
    readonly start: bigint
    readonly end: bigint
    readonly newestFirst: boolean
    readonly limit: number
  }): Promise<readonly SegmentInfo[]>
  readPayloads(
    streamId: StreamId,
    places: readonly SegmentPlace[],
  ): Promise<ReadonlyMap<string, Uint8Array>>
}

/** Runs in a worker. */
export type MatchSegments = (
  task: Pick<MatchTask, 'reads' | 'queries'>,
) => Promise<Pick<MatchResult, 'queries' | 'events'>>

/** Some events of a segment. */
export interface WantedSegment {
  readonly segmentId: SegmentId
  readonly place: SegmentPlace
  readonly payload?: Uint8Array | undefined
  readonly fromOrdinal: number
  readonly toOrdinal: number
}

/** The payload of each; undefined for a segment that retention has removed. */
export async function readWanted(
  source: SegmentSource,
  streamId: StreamId,
  wanted: readonly WantedSegment[],
): Promise<(SegmentRead | undefined)[]> {
  const places = wanted.flatMap(({ payload, place }) => (payload === undefined ? [place] : []))
  const stored = places.length === 0 ? NONE : await source.readPayloads(streamId, places)
  return Promise.all(
    wanted.map(async (one) => {
      const payload = one.payload ?? stored.get(rowKeyText(one.place))
      if (payload !== undefined) return readOf(one, one.place, payload)
      return readAnew(source, streamId, one)
    }),
  )
}

const NONE: ReadonlyMap<string, Uint8Array> = new Map()
/** A row is merged once, and a mixed one is split before that. */
const TRIES_MAX = 3

/** Its row was merged since it was listed, or removed. */
async function readAnew(
  source: SegmentSource,
  streamId: StreamId,
  wanted: WantedSegment,
): Promise<SegmentRead | undefined> {
  const start = wanted.segmentId
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const range = { streamId, start, end: start + 1n, newestFirst: true, limit: 1 }
    const [segment] = await source.listSegments(range)
    if (segment === undefined) return undefined
    const place = placeOf(segment)
    const payload = (await source.readPayloads(streamId, [place])).get(rowKeyText(place))
    if (payload !== undefined) return readOf(wanted, place, payload)
  }
  return undefined
}

function readOf(
  { segmentId, fromOrdinal, toOrdinal }: WantedSegment,
  { firstEvent }: SegmentPlace,
  payload: Uint8Array,
): SegmentRead {
  return {
    payload,
    segmentId: String(segmentId),
    ingestedAtMs: segmentIdMs(segmentId),
    fromOrdinal,
    toOrdinal,
    firstEvent,
    newestFirst: false,
  }
}
