/**
 * Joins neighbouring Native blocks with the same columns: ClickHouse then does its work for each
 * block and column only once. Nothing is copied: a joined block is a list of views.
 *
 *   counts · names · values of the first block, of the second, … · names · values …
 *
 * The ends of arrays are counted from the start of a block, so those numbers are raised, in place.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import {
  type EncodedBlock,
  PIECE_COUNTS,
  PIECE_NAMES,
  PIECE_OFFSETS,
  PIECE_VALUES,
} from '../model/batch/encoded-block.ts'
import { PROJECTION_COLUMNS } from '../model/projection.ts'
import { pushVaruint } from '../model/varuint.ts'

export interface JoinableBlock extends Pick<EncodedBlock, 'bytes' | 'rows' | 'pieces'> {
  /** For each piece; told where it begins among the bytes that result. */
  readonly starts?: Uint32Array | undefined
}

/** Rows of a joined block, if there are several in it. */
export const JOINED_ROWS_MAX = 16_384
/** A block of smaller pieces than this, on average, is not worth a view of each. */
export const JOINED_PIECE_BYTES_MIN = 256
/** Views made between two looks at what else there is to do. */
const VIEWS_A_TURN = 16_384
const OFFSET_BYTES = 8
const TWO_32 = 0x1_0000_0000

/**
 * The bytes of the blocks, in pieces, one after another. The blocks' own bytes are changed and must
 * not be used for anything else afterwards.
 */
export function joinBlocks(
  blocks: readonly JoinableBlock[],
  pieceBytesMin = JOINED_PIECE_BYTES_MIN,
): Uint8Array[] {
  const out: Uint8Array[] = []
  for (const _ of joinSteps(blocks, out, pieceBytesMin));
  return out
}

/** The same for very many, with pauses. */
export async function joinInTurns(blocks: readonly JoinableBlock[]): Promise<Uint8Array[]> {
  const out: Uint8Array[] = []
  let seen = 0
  for (const _ of joinSteps(blocks, out, JOINED_PIECE_BYTES_MIN)) {
    if (out.length - seen < VIEWS_A_TURN) continue
    seen = out.length
    await immediate()
  }
  return out
}

/** Puts the blocks into `out`, a joined one or a single one a step. */
function* joinSteps(
  blocks: readonly JoinableBlock[],
  out: Uint8Array[],
  pieceBytesMin: number,
): Generator<void> {
  const isWorth = ({ bytes, pieces }: JoinableBlock) => {
    return pieces !== undefined && bytes.length >= pieces.length * pieceBytesMin
  }
  let at = 0
  for (let first = 0; first < blocks.length; ) {
    let { rows } = blocks[first]!
    let end = first + 1
    while (end < blocks.length && isWorth(blocks[first]!) && isWorth(blocks[end]!)) {
      if (rows + blocks[end]!.rows > JOINED_ROWS_MAX) break
      if (!haveSameColumns(blocks[first]!, blocks[end]!)) break
      rows += blocks[end++]!.rows
    }
    if (end === first + 1) at = addAlone(out, blocks[first]!, at)
    else at = joinInto(out, blocks.slice(first, end), rows, at)
    first = end
    yield
  }
}

function haveSameColumns(a: JoinableBlock, b: JoinableBlock): boolean {
  if (a.pieces === undefined || a.pieces.length !== b.pieces?.length) return false
  const [bytesOfA, bytesOfB] = [viewOf(a), viewOf(b)]
  let [startOfA, startOfB] = [0, 0]
  for (let i = 0; i < a.pieces.length; i++) {
    const [pieceOfA, pieceOfB] = [a.pieces[i]!, b.pieces[i]!]
    if ((pieceOfA & 3) !== (pieceOfB & 3)) return false
    const [endOfA, endOfB] = [pieceOfA >>> 2, pieceOfB >>> 2]
    if ((pieceOfA & 3) === PIECE_NAMES) {
      if (bytesOfA.compare(bytesOfB, startOfB, endOfB, startOfA, endOfA) !== 0) return false
    }
    ;[startOfA, startOfB] = [endOfA, endOfB]
  }
  return true
}

/** Returns where the next bytes begin. */
function addAlone(out: Uint8Array[], { bytes, pieces, starts }: JoinableBlock, at: number): number {
  out.push(bytes)
  if (starts !== undefined) {
    for (const index of starts.keys()) starts[index] = at + pieceStart(pieces!, index)
  }
  return at + bytes.length
}

/** Where a piece begins in its own block. */
export function pieceStart(pieces: Uint32Array, index: number): number {
  return index === 0 ? 0 : pieces[index - 1]! >>> 2
}

/** Returns where the next bytes begin. */
function joinInto(
  out: Uint8Array[],
  blocks: readonly JoinableBlock[],
  rows: number,
  start: number,
): number {
  let at = start
  const views = blocks.map(viewOf)
  const count = blocks[0]!.pieces!.length
  for (let piece = 0; piece < count; piece++) {
    const kind = blocks[0]!.pieces![piece]! & 3
    if (kind === PIECE_COUNTS) {
      const counts = countsOf(rows)
      out.push(counts)
      at += counts.length
    }
    const first = at
    let elements = 0
    for (const [i, view] of views.entries()) {
      const { pieces, starts } = blocks[i]!
      const from = pieceStart(pieces!, piece)
      const end = pieces![piece]! >>> 2
      if (kind === PIECE_OFFSETS) elements = raiseOffsets(view, from, end, elements)
      // Counts are those of all, and names are the first one's.
      if (starts !== undefined) starts[piece] = kind >= PIECE_VALUES ? at : first
      const isWanted = kind >= PIECE_VALUES || (kind === PIECE_NAMES && i === 0)
      if (!isWanted || end === from) continue
      out.push(view.subarray(from, end))
      at += end - from
    }
  }
  return at
}

function countsOf(rows: number): Uint8Array {
  const bytes: number[] = []
  pushVaruint(bytes, PROJECTION_COLUMNS.length)
  pushVaruint(bytes, rows)
  return Uint8Array.from(bytes)
}

/** Adds `by` to each offset, of which there are fewer than 2^53; returns the last one. */
function raiseOffsets(view: Buffer, start: number, end: number, by: number): number {
  if (start === end) return by
  for (let at = start; by > 0 && at < end; at += OFFSET_BYTES) {
    const raised = view.readUInt32LE(at) + view.readUInt32LE(at + 4) * TWO_32 + by
    view.writeUInt32LE(raised % TWO_32, at)
    view.writeUInt32LE(Math.floor(raised / TWO_32), at + 4)
  }
  const last = end - OFFSET_BYTES
  return view.readUInt32LE(last) + view.readUInt32LE(last + 4) * TWO_32
}

function viewOf({ bytes }: JoinableBlock): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
