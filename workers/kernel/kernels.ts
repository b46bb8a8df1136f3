/**
 * The thread's kernels: the loops over bytes that are worth WebAssembly, instantiated on the
 * thread's arena. Their sources are in `kernels/`; addresses are `byteOffset`s of arena arrays.
 */
import { readFileSync } from 'node:fs'
import { arena } from './arena.ts'
import { DOUBLE_BYTES_MAX, writeDouble } from './number-text.ts'

export interface Kernels {
  /** Where the trie's arrays are; see `PathTrie.bind`. */
  bindTrieLinks(
    parent: number,
    canonical: number,
    next: number,
    first: number,
    element: number,
  ): void
  bindTrieKeys(
    keyStart: number,
    keyLength: number,
    escaped: number,
    keyBytes: number,
    table: number,
    tableMask: number,
    seed: number,
  ): void
  bindTape(seen: number, depthMax: number): void
  /** See `kernels/tape.ts`. */
  parseObject(
    bytes: number,
    pos: number,
    node: number,
    depth: number,
    lineFeedIsSpace: boolean,
    entries: number,
    capacity: number,
    state: number,
  ): number
  /** See `kernels/otlp.ts`. */
  writeMembers(
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
    state: number,
  ): number
  skipFields(source: number, start: number, end: number, tag: number): number
  /** See `kernels/events.ts`; `DecodedEvents.bind` calls it. */
  bindEvents(start: number, end: number, tapeStart: number, tapeEnd: number): void
  /** See `kernels/lines.ts`. */
  bindLines(prefix: number, length: number, node: number, lineBytesMax: number): void
  writeLines(
    source: number,
    pos: number,
    end: number,
    out: number,
    limit: number,
    entries: number,
    capacity: number,
    eventsMax: number,
    state: number,
  ): number
  /** See `kernels/escape.ts`. */
  unescapeText(start: number, end: number, to: number): number
  /** See `kernels/copy.ts` and `kernels/splice.ts`. */
  copyBytes(to: number, from: number, length: number): void
  hashText(text: number, length: number): number
  isSameText(a: number, b: number, length: number): number
  copyEntries(from: number, to: number, out: number, shift: number, moved: number): void
  findFlagged(from: number, to: number, flags: number, count: number, wanted: number): number
  findNode(first: number, end: number, entries: number, node: number): number
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
  bindSecrets(triples: number, signs: number, words: number): void
  /** See `kernels/formats.ts`. */
  bindHeads(pairs: number, fourths: number, starts: number, heads: number): void
  bindTokenEnds(distances: number, count: number, bytesMin: number, literals: number): void
  bindNameEndings(ends: number, middles: number): void
  mayNameSecret(start: number, end: number, isEscaped: boolean, isInList: boolean): number
  /** See `kernels/credential-marks.ts`. */
  bindNames(ends: number, masks: number): void
  bindKeys(flags: number, count: number, special: number, logNode: number): void
  findSuspect(first: number, end: number, entries: number, bytes: number): number
  mayBeSecret(start: number, end: number, isEscaped: boolean): number
  /** See `kernels/inner-keys.ts`. */
  bindSecretWords(states: number): void
  firstInnerKey(start: number, end: number): number
  nextInnerKey(start: number, from: number, end: number): number
  /** See `kernels/agents.ts`. */
  bindAgents(places: number, setMask: number, textBytesMax: number): void
  bindAgentFields(flags: number, count: number, keys: number, generation: number): void
  addSiblings(
    first: number,
    end: number,
    bytes: number,
    limit: number,
    entries: number,
    capacity: number,
    state: number,
  ): number
  /** See `kernels/layouts.ts`. */
  bindLayouts(layoutOf: number, layouts: number, cells: number): void
  bindStates(keys: number, nexts: number, siblings: number): void
  findLayouts(
    first: number,
    end: number,
    entries: number,
    found: number,
    entriesMax: number,
  ): number
  placeRows(
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
  bindFacts(times: number, nanos: number, sources: number, lows: number, highs: number): void
  bindLayoutFacts(facts: number, offsets: number, scratch: number, escapedBytesMax: number): void
  describeEvents(
    first: number,
    end: number,
    layoutOf: number,
    entries: number,
    bytes: number,
  ): number
  writeTimes(first: number, count: number, to: number): number
  writeShapes(first: number, count: number, to: number): void
  readTime(start: number, end: number, into: number): number
  /** See `kernels/segment/columns.ts`. */
  bindTemplates(byLayout: number, triedMax: number, gapsOf: number, gaps: number): void
  appendRows(
    first: number,
    end: number,
    firstEvent: number,
    cursors: number,
    columns: number,
    templateOf: number,
    entries: number,
    bytes: number,
  ): number
  writeTemplate(cells: number, count: number, gaps: number, bytes: number, to: number): number
  /** See `kernels/segment/pack.ts`. */
  packHex(from: number, count: number, chars: number, out: number): number
  packUuids(from: number, count: number, out: number): number
  packDecimals(from: number, length: number, out: number): number
  /** See `kernels/segment/dictionary.ts`. */
  bindDictionary(texts: number, limit: number, heads: number, starts: number, places: number): void
  listValues(from: number, end: number, numbers: number, serial: number, state: number): number
  packNumbers(numbers: number, count: number, width: number, out: number): void
  /** See `kernels/segment/unpack.ts`. */
  unpackHex(from: number, count: number, chars: number, out: number): void
  unpackUuids(from: number, count: number, out: number): void
  unpackDecimals(from: number, length: number, out: number): void
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
