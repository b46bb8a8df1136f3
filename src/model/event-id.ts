/** An event's public id, `<segment>-<ordinal>`: sorts by time, then by position in the segment. */
import { SEGMENT_ID_MAX, type SegmentId, tryParseSegmentId } from './segment-id.ts'
import type { StreamId } from './stream.ts'

export interface EventId {
  readonly segmentId: SegmentId
  /** Position in the segment, from 0. */
  readonly ordinal: number
}

export const ORDINAL_MAX = 2 ** 31 - 1 // The event count of a segment is a signed 32-bit integer.

export function tryParseEventId(text: string): EventId | undefined {
  const match = /^([0-9]{1,19})-(0|[1-9][0-9]{0,9})$/.exec(text)
  if (match === null) return undefined
  const segmentId = tryParseSegmentId(match[1] ?? '')
  const ordinal = Number(match[2])
  if (segmentId === undefined || ordinal > ORDINAL_MAX) return undefined
  return { segmentId, ordinal }
}

export function formatEventId(id: EventId): string {
  return `${id.segmentId}-${id.ordinal}`
}

/** An event and its stream: what search finds. Ids sort by time over all nodes and streams. */
export interface EventKey extends EventId {
  readonly streamId: StreamId
}

/** In ascending order. */
export function compareEvents(a: EventId, b: EventId): number {
  if (a.segmentId !== b.segmentId) return a.segmentId < b.segmentId ? -1 : 1
  return a.ordinal - b.ordinal
}

/** Where an event is in the order of event times; equal ones go by their ids. */
export interface TimedId extends EventId {
  /** Nanoseconds since 1970. */
  readonly timeNs: bigint
}

export interface TimedKey extends EventKey {
  readonly timeNs: bigint
}

/** In ascending order. */
export function compareTimed(a: TimedId, b: TimedId): number {
  if (a.timeNs !== b.timeNs) return a.timeNs < b.timeNs ? -1 : 1
  return compareEvents(a, b)
}

/** A cursor in the order of event times: `<nanoseconds>@<id>`. */
export function tryParseTimedId(text: string): TimedId | undefined {
  const [, ns, idText = ''] = /^(-?[0-9]{1,19})@(.*)$/.exec(text) ?? []
  const id = ns === undefined ? undefined : tryParseEventId(idText)
  if (ns === undefined || id === undefined) return undefined
  const timeNs = BigInt(ns)
  return timeNs === BigInt.asIntN(64, timeNs) ? { ...id, timeNs } : undefined
}

export function formatTimedId(id: TimedId): string {
  return `${id.timeNs}@${formatEventId(id)}`
}

/** The cursor after which, in reading order, the times beyond `boundNs` come. */
export function timedBoundary(boundNs: bigint, newestFirst: boolean): TimedId {
  const [timeNs, ...bound] = newestFirst ? [boundNs, 0n] : [boundNs - 1n, SEGMENT_ID_MAX]
  return { ...boundaryCursor(bound[0]!, newestFirst), timeNs }
}

/** Merges in reading order. An event that several sources have is that of the first of them. */
export function mergeEvents<T extends EventKey>(
  sources: readonly (readonly T[])[],
  newestFirst: boolean,
  compare: (a: T, b: T) => number = compareEvents,
): T[] {
  const sign = newestFirst ? -1 : 1
  const sorted = sources.flat().sort((a, b) => sign * compare(a, b))
  return sorted.filter((key, index) => index === 0 || compare(key, sorted[index - 1]!) !== 0)
}

/** The cursor after which, in reading order, the segments beyond `bound` come. */
export function boundaryCursor(bound: bigint, newestFirst: boolean): EventId {
  if (newestFirst) return { segmentId: clamp(bound), ordinal: 0 }
  return { segmentId: clamp(bound - 1n), ordinal: ORDINAL_MAX }
}

function clamp(id: bigint): SegmentId {
  const inRange = id < 0n ? 0n : id > SEGMENT_ID_MAX ? SEGMENT_ID_MAX : id
  return inRange as SegmentId
}
