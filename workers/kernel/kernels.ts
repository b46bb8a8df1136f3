/**
 * The thread's kernels: the loops over bytes that are worth WebAssembly, instantiated on the
 * thread's arena. Their sources are in `kernels/`; addresses are `byteOffset`s of arena arrays.
 *
 * What a call needs besides its arguments is in a context: integers of the arena that their owner
 * fills, in the order of a class in `kernels/`. Kernels keep nothing from call to call.
 */
import { readFileSync } from 'node:fs'
import { arena } from './arena.ts'
import { DOUBLE_BYTES_MAX, writeDouble } from './number-text.ts'

export interface Kernels {
  /** See `kernels/tape.ts`. */
  parseObject(
    tape: number,
    bytes: number,
    pos: number,
    node: number,
    depth: number,
    lineFeedIsSpace: boolean,
    entries: number,
    capacity: number,
  ): number
  /** See `kernels/decode/otlp.ts`. */
  writeMembers(
    tape: number,
    source: number,
    start: number,
    end: number,
    memberTag: number,
    node: number,
    depth: number,
    bytes: number,
    at: number,
    bytesEnd: number,
    entries: number,
    capacity: number,
  ): number
  skipFields(source: number, start: number, end: number, tag: number): number
  /** See `kernels/decode/lines.ts`. */
  writeLines(
    lines: number,
    events: number,
    source: number,
    pos: number,
    end: number,
    out: number,
    limit: number,
    entries: number,
    capacity: number,
    eventsMax: number,
  ): number
  /** See `kernels/decode/pieces.ts`. */
  writePieces(
    pieces: number,
    count: number,
    out: number,
    to: number,
    limit: number,
    entries: number,
  ): number
  /** See `kernels/escape.ts`. */
  escapeText(start: number, end: number, to: number, limit: number): number
  unescapeText(start: number, end: number, to: number): number
  /** See `kernels/scan.ts`. */
  stringEnd(pos: number): number
  /** See `kernels/decode/snappy.ts`. */
  decompress(start: number, end: number, out: number, length: number): number
  /** See `kernels/copy.ts` and `kernels/splice.ts`. */
  copyBytes(to: number, from: number, length: number): void
  hashText(text: number, length: number): number
  isSameText(a: number, b: number, length: number): number
  copyEntries(from: number, to: number, out: number, shift: number, moved: number): void
  findFlagged(from: number, to: number, flags: number, count: number, wanted: number): number
  findNode(events: number, first: number, end: number, entries: number, node: number): number
  spliceEvent(
    edits: number,
    count: number,
    start: number,
    end: number,
    entry: number,
    entryEnd: number,
    bytes: number,
    out: number,
    entries: number,
    length: number,
  ): void
  /** See `kernels/secrets.ts`. */
  mayNameSecret(
    names: number,
    start: number,
    end: number,
    isEscaped: boolean,
    isInList: boolean,
  ): number
  findSuspect(
    tables: number,
    events: number,
    first: number,
    end: number,
    entries: number,
    bytes: number,
  ): number
  mayBeSecret(tables: number, start: number, end: number, isEscaped: boolean): number
  /** See `kernels/inner-keys.ts`. */
  firstInnerKey(states: number, start: number, end: number): number
  nextInnerKey(states: number, start: number, from: number, end: number): number
  /** See `kernels/agents.ts`. */
  addSiblings(
    fields: number,
    events: number,
    first: number,
    end: number,
    bytes: number,
    limit: number,
    entries: number,
    capacity: number,
  ): number
  /** See `kernels/layouts.ts`. */
  findLayouts(
    states: number,
    events: number,
    first: number,
    end: number,
    entries: number,
    found: number,
    entriesMax: number,
  ): number
  placeRows(
    layouts: number,
    first: number,
    end: number,
    starts: number,
    entries: number,
    fill: number,
    cellRow: number,
    cellEntry: number,
    textBytes: number,
  ): number
  /** See `kernels/facts.ts` and `kernels/times.ts`. */
  describeEvents(
    facts: number,
    events: number,
    first: number,
    end: number,
    layoutOf: number,
    entries: number,
    bytes: number,
  ): number
  writeTimes(facts: number, first: number, count: number, to: number): number
  writeHalves(lows: number, highs: number, first: number, count: number, to: number): void
  tryTime(clock: number, start: number, end: number): number
  findLabels(
    labels: number,
    events: number,
    first: number,
    end: number,
    layoutOf: number,
    entries: number,
    bytes: number,
  ): number
  rememberLabel(labels: number, kind: number, entry: number, bytes: number, value: number): void
  /** See `kernels/patterns.ts`. */
  findPatterns(
    patterns: number,
    events: number,
    first: number,
    end: number,
    layoutOf: number,
    entries: number,
    bytes: number,
  ): number
  /** See `kernels/segment/columns.ts`. */
  appendRows(
    columns: number,
    layouts: number,
    events: number,
    first: number,
    end: number,
    firstEvent: number,
    templateOf: number,
  ): number
  writeTemplate(
    cells: number,
    count: number,
    columnOf: number,
    gaps: number,
    bytes: number,
    to: number,
  ): number
  /** See `kernels/segment/pack.ts`. */
  packHex(from: number, count: number, chars: number, out: number): number
  packUuids(from: number, count: number, out: number): number
  /** See `kernels/segment/dictionary.ts`. */
  listValues(dictionary: number, from: number, end: number, numbers: number): number
  packNumbers(numbers: number, count: number, width: number, out: number): void
  /** See `kernels/segment/digits.ts`. */
  countRepeated(digits: number, from: number, count: number): number
  writeDigits(digits: number, from: number, length: number): number
  endDigits(digits: number): number
  /** See `kernels/segment/unpack.ts`. */
  unpackHex(from: number, count: number, chars: number, out: number): void
  unpackUuids(from: number, count: number, out: number): void
  unpackNumbers(from: number, count: number, width: number, out: number): number
  /** See `kernels/segment/stored.ts`. */
  writeStored(
    count: number,
    templateOf: number,
    gapsOf: number,
    templates: number,
    columns: number,
    out: number,
    end: number,
  ): number
  /** See `kernels/values.ts`. */
  markRows(cellRows: number, first: number, end: number, discriminators: number): void
  readonly writeStrings: WriteCells
  readonly writeIntegers: WriteCells
  readonly writeFloats: WriteCells
  readonly writeBooleans: WriteCells
  readonly writeStringColumn: WriteColumn
  readonly writeIntegerColumn: WriteColumn
  readonly writeFloatColumn: WriteColumn
  readonly writeBooleanColumn: WriteColumn
}

/** Writes cells from `first` on; `state` then has the one it stopped at. Returns where it ended. */
export type WriteCells = (
  cells: number,
  first: number,
  end: number,
  entries: number,
  bytes: number,
  to: number,
  state: number,
) => number

/** Writes the values at `from`; `state` then has where it stopped, and how many it wrote. */
export type WriteColumn = (from: number, count: number, to: number, state: number) => number

/** Code that is read once, when this module is; V8 shares what it compiles between threads. */
const code = new WebAssembly.Module(readFileSync(new URL('./kernels.wasm', import.meta.url)))

/** Kernels leave it to JavaScript how a double is written: digits as `JSON.stringify` has them. */
let all = new Uint8Array(arena.memory.buffer)
function writeDoubleAt(address: number, value: number): number {
  if (address + DOUBLE_BYTES_MAX > all.length) all = new Uint8Array(arena.memory.buffer)
  return writeDouble(all, address, value)
}

export const kernels = new WebAssembly.Instance(code, {
  env: { memory: arena.memory },
  otlp: { writeDouble: writeDoubleAt },
}).exports as unknown as Kernels
