/**
 * The records of events that were found, in their order: payloads of some segments at a time, which
 * workers decode. Events never pass through this thread as parsed values.
 */
import { EVENTS_PAGE_BYTES_MAX, SEARCH_PAYLOADS_MAX } from '../../limits.ts'
import type { DamagedRead, RecordFormat, SegmentRead } from '../../model/batch/segment-read.ts'
import type { EventKey } from '../../model/event-id.ts'
import type { StreamSegment } from '../../model/projection.ts'
import { type FoundSegment, readOf } from '../../model/stored-row.ts'
import type { FoundEvent, Shown } from './search-sources.ts'
import type { ReadPayloads } from './store-sources.ts'

export interface RecordReaders {
  readonly readPayloads: ReadPayloads
  /** Renders events of stored segments, in the pool. */
  readonly renderRecords: (
    reads: readonly SegmentRead[],
    format: RecordFormat,
  ) => Promise<{ readonly json: Uint8Array; readonly damaged: readonly DamagedRead[] }>
}

export interface RecordOptions extends Shown {
  /** Within a piece, records are in the opposite order of the events. */
  readonly isReversed: boolean
}

export interface RecordPiece {
  readonly bytes: Uint8Array
  /** The last event that it is about; those before it are in this piece or an earlier one. */
  readonly last: EventKey
  readonly damaged: readonly DamagedSegment[]
  /** Events before `last`, since the piece before, whose segment is gone. */
  readonly gone: number
}

export interface DamagedSegment {
  readonly segmentId: string
  readonly events: number
}

/** A page is two of them. */
const PIECE_BYTES = EVENTS_PAGE_BYTES_MAX / 2

/** Events of one segment that were found: all with their records, or all without. */
interface Group extends StreamSegment {
  readonly keys: FoundEvent[]
}

/** What a piece is made of, in the order of the events: their records, or what has them. */
type Part = Uint8Array | SegmentRead

/**
 * Pieces of at most about PIECE_BYTES, estimated by the mean event of each segment, but of at least
 * one event. Events of a segment that was removed meanwhile are left out, unless their records were
 * written when they were found.
 */
export async function* readRecords(
  readers: RecordReaders,
  events: readonly FoundEvent[],
  options: RecordOptions,
): AsyncGenerator<RecordPiece, void> {
  const groups = groupBySegment(events)
  const inOrder = (parts: readonly Part[]) => {
    return options.isReversed ? parts.toReversed() : parts
  }
  for (let at = 0; at < groups.length; at += SEARCH_PAYLOADS_MAX) {
    const some = groups.slice(at, at + SEARCH_PAYLOADS_MAX)
    const payloads = await readers.readPayloads(some.filter((group) => !isWritten(group)))
    let parts: Part[] = []
    let bytes = 0
    let gone = 0
    let last: FoundEvent | undefined
    for (const group of some) {
      const segment = payloads.get(group.segmentId)
      const eventBytes = isWritten(group) ? meanBytes(group) : (segment?.eventBytes ?? 0)
      for (const keys of affordable(group.keys, eventBytes)) {
        const size = keys.length * eventBytes
        if (bytes > 0 && bytes + size > PIECE_BYTES && last !== undefined) {
          yield { ...(await render(readers, inOrder(parts), options.format, last)), gone }
          parts = []
          bytes = 0
          gone = 0
        }
        if (isWritten(group)) parts.push(...keys.map(({ record }) => record!))
        else if (segment === undefined) gone += keys.length
        else parts.push(chosenOf(segment, keys, options))
        bytes += size
        last = keys.at(-1)
      }
    }
    if (last !== undefined)
      yield { ...(await render(readers, inOrder(parts), options.format, last)), gone }
  }
}

function isWritten({ keys }: Group): boolean {
  return keys[0]!.record !== undefined
}

function meanBytes({ keys }: Group): number {
  return keys.reduce((sum, { record }) => sum + record!.length, 0) / keys.length
}

/** A worker reads events of a segment up or down: by event times they may go to and fro. */
function groupBySegment(events: readonly FoundEvent[]): Group[] {
  const groups: Group[] = []
  for (const key of events) {
    const { streamId, segmentId } = key
    const group = groups.at(-1)
    const isSame = group?.segmentId === segmentId && isWritten(group) === (key.record !== undefined)
    if (isSame && goesOn(group, key)) group.keys.push(key)
    else groups.push({ streamId, segmentId, keys: [key] })
  }
  return groups
}

function goesOn({ keys }: Group, { ordinal }: FoundEvent): boolean {
  const last = keys.at(-1)!.ordinal
  return keys.length === 1 || isRising(keys) === ordinal > last
}

function isRising(keys: readonly EventKey[]): boolean {
  return keys[0]!.ordinal <= keys.at(-1)!.ordinal
}

/** Runs of events of which none takes more than a piece, but for a single event. */
function* affordable(keys: readonly FoundEvent[], eventBytes: number) {
  const count = Math.max(1, Math.floor(PIECE_BYTES / Math.max(1, eventBytes)))
  for (let at = 0; at < keys.length; at += count) yield keys.slice(at, at + count)
}

function chosenOf(
  segment: FoundSegment,
  keys: readonly EventKey[],
  { isReversed, includesStreamId }: RecordOptions,
): SegmentRead {
  const all = { fromOrdinal: 0, toOrdinal: segment.eventCount }
  const newestFirst = isRising(keys) === isReversed
  return {
    ...readOf(segment, all, newestFirst),
    ordinals: Uint32Array.from(keys, ({ ordinal }) => ordinal).sort(),
    ...(includesStreamId && { streamId: String(segment.streamId) }),
  }
}

async function render(
  { renderRecords }: RecordReaders,
  parts: readonly Part[],
  format: RecordFormat,
  last: EventKey,
): Promise<Omit<RecordPiece, 'gone'>> {
  const written: Uint8Array[] = []
  const damaged: DamagedSegment[] = []
  for (let at = 0; at < parts.length; ) {
    const part = parts[at]!
    if (part instanceof Uint8Array) {
      written.push(part)
      if (format.kind === 'lines') written.push(LINE_FEED)
      at++
      continue
    }
    const reads: SegmentRead[] = []
    for (let next: Part | undefined = part; isRead(next); next = parts[++at]) reads.push(next)
    const { json, damaged: lost } = await renderRecords(reads, format)
    if (json.length > 0) written.push(json)
    for (const { index } of lost) {
      const { segmentId, ordinals } = reads[index]!
      damaged.push({ segmentId, events: ordinals?.length ?? 0 })
    }
  }
  const isList = format.kind === 'list'
  const all = isList ? written.flatMap((one, i) => (i === 0 ? [one] : [COMMA, one])) : written
  return { bytes: Buffer.concat(all), last, damaged }
}

function isRead(part: Part | undefined): part is SegmentRead {
  return part !== undefined && !(part instanceof Uint8Array)
}

const COMMA = Buffer.from(',')
const LINE_FEED = Buffer.from('\n')
