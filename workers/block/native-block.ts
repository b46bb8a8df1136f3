/**
 * One ClickHouse Native block of a projection table, straight from the tape.
 *
 *   varuint columns, varuint rows; per column: string name, string type, data
 *
 * Three columns hold what is known only at commit: the segment id, the receipt time, and the event
 * time of rows without a producer time. They are left zero and their offsets are handed on; main
 * stamps them (`materialize/stamp.ts`). Several blocks one after another are one INSERT body.
 */
import assert from 'node:assert/strict'
import {
  type EncodedBlock,
  PIECE_COUNTS,
  PIECE_NAMES,
  PIECE_VALUES,
  type StampedColumns,
} from '../../src/model/batch/encoded-block.ts'
import {
  MIXED_PROJECTION_COLUMNS,
  PROJECTION_COLUMNS,
  SHARED_PAYLOAD_TYPE,
  type StreamRows,
} from '../../src/model/projection.ts'
import { type EventFacts, SOURCE_RECEIPT } from '../facts/event-facts.ts'
import { ByteWriter } from '../kernel/byte-writer.ts'
import { kernels } from '../kernel/kernels.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import type { ColumnIndex } from './column-index.ts'
import { writeContexts } from './context-column.ts'
import { ServiceColumn, writeLabelPrefix, writeLevels } from './label-columns.ts'
import { type ColumnTexts, JsonColumn, notePiece, type TapeSource } from './native-json.ts'
import { SharedJsonColumn } from './shared-json.ts'

const HEADERS = PROJECTION_COLUMNS.map(([name, type]) => columnHeader(name, type))
const SHAPE = 4
const LEVEL = 5
const SERVICE = 6
const CONTEXT = 7
const PATTERN = 8
const PAYLOAD = PROJECTION_COLUMNS.length - 1
const STREAM_HEADER = columnHeader(...MIXED_PROJECTION_COLUMNS[0])
const SHARED_HEADER = columnHeader('payload', SHARED_PAYLOAD_TYPE)

function columnHeader(name: string, type: string): Uint8Array {
  const writer = new ByteWriter(256)
  writer.string(Buffer.from(name))
  writer.string(Buffer.from(type))
  return writer.take()
}

/** Bytes of the fixed columns a row, mostly; `stream_id` of the shared table included. */
const FIXED_ROW_BYTES = 4 + 8 + 4 + 8 + 8 + 8 + 8 + 1

/** Bytes of the events' JSON, a line feed after each. */
export function textLength(events: DecodedEvents, range: EventRange): number {
  let total = range.count
  const end = range.first + range.count
  for (let i = range.first; i < end; i++) total += events.end[i]! - events.start[i]!
  return total
}

/** Which events of the batch go into the block. */
export interface EventRange {
  readonly first: number
  readonly count: number
}

export interface NativeBlock {
  readonly block: EncodedBlock
  readonly pathsSkipped: number
}

export class NativeBlockEncoder {
  readonly #writer = new ByteWriter(16 * 1024)
  readonly #payload = new JsonColumn(0)
  readonly #shared = new SharedJsonColumn()
  readonly #services = new ServiceColumn()
  readonly #pieces: number[] = []
  /** Of the block that was begun. */
  #fixed: StampedColumns | undefined
  #pathsSkipped = 0

  /**
   * Encodes a range of events. The bytes are in `into` if they fit. `counts`: the range holds
   * several segments, with this many events each; ordinals start again from 0 in each.
   */
  encode(
    source: TapeSource,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
    into?: Uint8Array,
    counts: readonly number[] = [range.count],
  ): NativeBlock {
    this.begin(source, events, facts, range, counts)
    return this.finish(into)
  }

  /** Begins a block; returns the index of its payload column. */
  begin(
    source: TapeSource,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
    counts: readonly number[] = [range.count],
  ): ColumnIndex {
    this.#beginBlock(PROJECTION_COLUMNS.length, range.count)
    this.#fixed = this.#writeFixed(facts, range, counts)
    this.#header(PAYLOAD)
    this.#pathsSkipped = this.#prepare(source, events, facts, range)
    return this.#payload.index
  }

  /** Finishes the block; `texts`: the values by slot of its index, if they were gathered. */
  finish(into?: Uint8Array, texts?: ColumnTexts): NativeBlock {
    const writer = this.#writer
    this.#payload.writePrefix(writer)
    notePiece(this.#pieces, writer, PIECE_NAMES)
    const starts: number[] = []
    this.#payload.writeData(writer, this.#pieces, texts, starts)
    const pieces = Uint32Array.from(this.#pieces)
    const pathPieces = Uint32Array.from(starts)
    const pathsSkipped = this.#pathsSkipped
    const bytes = writer.take(into)
    const isWhole = pathsSkipped === 0
    return { block: { bytes, ...this.#fixed!, pieces, pathPieces, isWhole }, pathsSkipped }
  }

  /** The same for the table that small streams share; `runs`: whose the range's events are. */
  encodeShared(
    source: TapeSource,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
    runs: readonly StreamRows[],
    into?: Uint8Array,
  ): NativeBlock {
    const writer = this.#writer
    this.#beginBlock(MIXED_PROJECTION_COLUMNS.length, range.count)
    this.#streamIds(runs, range.count)
    const counts = runs.map(({ count }) => count)
    const fixed = this.#writeFixed(facts, range, counts)
    this.#append(SHARED_HEADER)
    const rows = { events, layout: facts.layout, ...range }
    const pathsSkipped = this.#shared.write(writer, source, rows)
    const isWhole = pathsSkipped === 0
    return { block: { bytes: writer.take(into), ...fixed, isWhole }, pathsSkipped }
  }

  #beginBlock(columns: number, rows: number): void {
    const writer = this.#writer
    writer.length = 0
    writer.reserve(rows * FIXED_ROW_BYTES + 1024)
    writer.varuint(columns)
    writer.varuint(rows)
    this.#pieces.length = 0
    notePiece(this.#pieces, writer, PIECE_COUNTS)
  }

  #streamIds(runs: readonly StreamRows[], rows: number): void {
    this.#append(STREAM_HEADER)
    const writer = this.#writer
    const end = writer.length + rows * 4
    for (const { streamId, count } of runs) {
      for (let i = 0; i < count; i++, writer.length += 4) {
        writer.view.setUint32(writer.length, streamId, true)
      }
    }
    assert.equal(writer.length, end, 'every row is of a stream')
  }

  /** All columns between `stream_id` and the payload. */
  #writeFixed(facts: EventFacts, range: EventRange, counts: readonly number[]): StampedColumns {
    const { count } = range
    assert(range.first + count <= facts.patterns.count, "patterns of the block's events are known")
    const segmentIdOffset = this.#zeros(0, count * 8)
    this.#ordinals(counts)
    const ingestedAtOffset = this.#zeros(2, count * 8)
    const eventTimeOffset = this.#zeros(3, count * 8)
    const receiptTimeRows = this.#eventTimes(eventTimeOffset, facts, range)
    this.#halves(SHAPE, facts.shapeLow, facts.shapeHigh, range)
    this.#labels(facts, range)
    this.#halves(PATTERN, facts.patterns.low, facts.patterns.high, range)
    return { rows: count, segmentIdOffset, ingestedAtOffset, eventTimeOffset, receiptTimeRows }
  }

  /** The payload column's index of a range, for which no block is needed. */
  index(
    source: TapeSource,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
  ): ColumnIndex {
    this.#prepare(source, events, facts, range)
    return this.#payload.index
  }

  #prepare(
    source: TapeSource,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
  ): number {
    const { tapeStart: start, tapeEnd: end } = events
    const textBytes = textLength(events, range)
    return this.#payload.prepare(source, { ...range, start, end, textBytes, layout: facts.layout })
  }

  #append(header: Uint8Array): void {
    this.#writer.reserve(header.length)
    this.#writer.bytes.set(header, this.#writer.length)
    this.#writer.length += header.length
  }

  #header(column: number): void {
    this.#append(HEADERS[column]!)
    if (column === LEVEL || column === SERVICE) writeLabelPrefix(this.#writer)
    if (column < PAYLOAD) notePiece(this.#pieces, this.#writer, PIECE_NAMES)
  }

  #zeros(column: number, length: number): number {
    this.#header(column)
    const writer = this.#writer
    const offset = writer.length
    writer.bytes.fill(0, offset, offset + length)
    writer.length = offset + length
    notePiece(this.#pieces, writer, PIECE_VALUES)
    return offset
  }

  #ordinals(counts: readonly number[]): void {
    this.#header(1)
    const { view } = this.#writer
    let at = this.#writer.length
    for (const count of counts) {
      for (let ordinal = 0; ordinal < count; ordinal++, at += 4) view.setUint32(at, ordinal, true)
    }
    this.#writer.length = at
    notePiece(this.#pieces, this.#writer, PIECE_VALUES)
  }

  #eventTimes(offset: number, facts: EventFacts, range: EventRange): 'all' | Uint32Array {
    const { first, count } = range
    const to = this.#writer.bytes.byteOffset + offset
    const missing = kernels.writeTimes(facts.context(), first, count, to)
    if (missing === count) return 'all'
    const rows = new Uint32Array(missing)
    for (let row = 0, i = 0; i < missing; row++) {
      if (facts.timeSource[first + row] === SOURCE_RECEIPT) rows[i++] = row
    }
    return rows
  }

  #halves(column: number, low: Int32Array, high: Int32Array, { first, count }: EventRange): void {
    this.#header(column)
    const writer = this.#writer
    // Columns of any length may be before it.
    writer.reserve(count * 8)
    const to = writer.bytes.byteOffset + writer.length
    kernels.writeHalves(low.byteOffset, high.byteOffset, first, count, to)
    writer.length += count * 8
    notePiece(this.#pieces, writer, PIECE_VALUES)
  }

  #labels({ labels }: EventFacts, range: EventRange): void {
    const writer = this.#writer
    this.#header(LEVEL)
    writeLevels(writer, labels, range)
    notePiece(this.#pieces, writer, PIECE_VALUES)
    this.#header(SERVICE)
    this.#services.write(writer, labels, range)
    notePiece(this.#pieces, writer, PIECE_VALUES)
    this.#header(CONTEXT)
    writeContexts(writer, labels, range)
    notePiece(this.#pieces, writer, PIECE_VALUES)
  }
}
