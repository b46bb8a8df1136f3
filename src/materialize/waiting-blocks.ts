/**
 * Blocks that wait for their insert can be looked into: a search that needs a literal passes over
 * those without it, instead of reading and decoding all that the projection does not have yet.
 *
 * Only what is there without waiting is looked at: bytes in our own memory, and those in spools.
 */
import type { PlacedLiteral, RequiredLiteral } from '../language/required-literals.ts'
import type { EncodedBlock } from '../model/batch.ts'
import type { BlockSpool } from '../model/projection.ts'
import type { SegmentId } from '../model/segment-id.ts'
import { readVaruint } from '../model/varuint.ts'
import { pieceStart } from './join-blocks.ts'
import { LiteralFinder } from './literal-finder.ts'

/** Whether a segment may have events that match. */
export type Sieve = (segmentId: SegmentId) => boolean

/** The version of a JSON column, before the names of its paths. */
const VERSION_BYTES = 8
const SCRATCH_BYTES_MIN = 64 * 1024

/** A block, wherever its bytes are. */
export class WaitingBlock {
  readonly pieces: Uint32Array
  /** As `EncodedBlock` has them. */
  readonly pathPieces: Uint32Array
  /** Where its pieces are in the spool, once it is there. */
  readonly starts: Uint32Array
  #bytes: Uint8Array | undefined
  #spool: BlockSpool | undefined
  #spoolStart = 0

  constructor(bytes: Uint8Array, pieces: Uint32Array, pathPieces: Uint32Array) {
    this.#bytes = bytes
    this.pieces = pieces
    this.pathPieces = pathPieces
    this.starts = new Uint32Array(pieces.length)
  }

  /** From here on its bytes are in the spool, `starts` counted from `spoolStart`. */
  moveTo(spool: BlockSpool, spoolStart: number): void {
    this.#bytes = undefined
    this.#spool = spool
    this.#spoolStart = spoolStart
  }

  /** The bytes of a piece, maybe in `scratch`; undefined when they are gone. */
  tryRead(piece: number, scratch: Scratch): Buffer | undefined {
    const start = pieceStart(this.pieces, piece)
    const length = (this.pieces[piece]! >>> 2) - start
    if (this.#bytes !== undefined) {
      return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, length)
    }
    const into = scratch.room(length)
    return this.#spool?.tryRead(this.#spoolStart + this.starts[piece]!, into) ? into : undefined
  }
}

class Scratch {
  #bytes = Buffer.alloc(0)

  room(length: number): Buffer {
    if (this.#bytes.length < length) {
      this.#bytes = Buffer.allocUnsafeSlow(Math.max(SCRATCH_BYTES_MIN, 2 * length))
    }
    return this.#bytes.subarray(0, length)
  }
}

export class WaitingBlocks {
  readonly #blocks = new Map<SegmentId, WaitingBlock>()

  /** Undefined for a block that cannot be looked into. */
  add(segmentId: SegmentId, block: EncodedBlock): WaitingBlock | undefined {
    const { bytes, pieces, pathPieces } = block
    if (pieces === undefined || pathPieces === undefined) return undefined
    const waiting = new WaitingBlock(bytes, pieces, pathPieces)
    this.#blocks.set(segmentId, waiting)
    return waiting
  }

  /** Its bytes will be somebody else's. */
  remove(segmentId: SegmentId): void {
    this.#blocks.delete(segmentId)
  }

  /** Lets through the segments that may have all of the literals, and those that are not here. */
  sieve(literals: readonly RequiredLiteral[]): Sieve {
    const search = new BlockSearch(literals)
    return (segmentId) => {
      const block = this.#blocks.get(segmentId)
      return block === undefined || search.mayHold(block)
    }
  }
}

interface PlacedFinder {
  readonly path: string | undefined
  readonly finder: LiteralFinder
}

/** One search through many blocks. */
class BlockSearch {
  readonly #required: readonly (readonly PlacedFinder[])[]
  readonly #scratch = new Scratch()
  /** The names of the block before, which most have, and the places of its paths among them. */
  #names: Buffer | undefined
  #paths: ReadonlyMap<string, number> = new Map()

  constructor(literals: readonly RequiredLiteral[]) {
    const placed = (literal: PlacedLiteral): PlacedFinder => {
      return { path: literal.path, finder: new LiteralFinder(literal) }
    }
    this.#required = literals.map((alternatives) => alternatives.map(placed))
  }

  /** False only if one of the required literals is not there; true also where bytes are gone. */
  mayHold(block: WaitingBlock): boolean {
    const { pathPieces } = block
    if (pathPieces.length === 0) return this.#required.length === 0
    const names = block.tryRead(pathPieces[0]! - 1, this.#scratch)
    if (names === undefined) return true
    if (this.#names === undefined || !this.#names.equals(names)) {
      this.#names = Buffer.from(names)
      this.#paths = readPaths(this.#names)
    }
    return this.#required.every((alternatives) => {
      return alternatives.some(({ path, finder }) => this.#mayHoldAt(block, path, finder))
    })
  }

  #mayHoldAt(block: WaitingBlock, path: string | undefined, finder: LiteralFinder): boolean {
    const { pieces, pathPieces } = block
    const index = path === undefined ? 0 : this.#paths.get(path)
    if (index === undefined) return false
    const next = path === undefined ? undefined : pathPieces[index + 1]
    const end = next ?? pieces.length
    // A path's first piece says which rows have it.
    for (let piece = pathPieces[index]! + 1; piece < end; piece++) {
      const bytes = block.tryRead(piece, this.#scratch)
      if (bytes === undefined || finder.mayBeIn(bytes)) return true
    }
    return false
  }
}

/** `workers/block/native-json.ts` writes them, after the name and the type of the column. */
function readPaths(bytes: Buffer): ReadonlyMap<string, number> {
  const at = { index: 0 }
  const string = () => {
    const length = readVaruint(bytes, at)
    at.index += length
    return bytes.toString('utf8', at.index - length, at.index)
  }
  string()
  string()
  at.index += VERSION_BYTES
  const count = readVaruint(bytes, at)
  return new Map(Array.from({ length: count }, (_, index) => [string(), index]))
}
