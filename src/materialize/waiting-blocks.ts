/**
 * Blocks that wait for their insert can be looked into: a search that needs a literal passes over
 * those without it, instead of reading and decoding all that the projection does not have yet.
 *
 * Only what is there without waiting is looked at: bytes in our own memory, and those in spools.
 */
import type { PlacedLiteral, RequiredLiteral } from '../language/required-literals.ts'
import type { EncodedBlock } from '../model/batch/encoded-block.ts'
import type { BlockSpool } from '../model/projection.ts'
import type { SegmentId } from '../model/segment-id.ts'
import { readVaruint } from '../model/varuint.ts'
import { pieceStart } from './join-blocks.ts'
import { LiteralFinder } from './literal-finder.ts'

/** Whether a segment may have events that match. */
export type Prefilter = (segmentId: SegmentId) => boolean

/** The version of a JSON column, before the names of its paths. */
const VERSION_BYTES = 8
const SCRATCH_BYTES_MIN = 64 * 1024
const NO_PIECES = [0, 0] as const

/** A block, wherever its bytes are. */
export class WaitingBlock {
  readonly segmentIds: readonly SegmentId[]
  /** As `EncodedBlock` has them; a block of the shared table is one piece. */
  readonly pieces: Uint32Array
  readonly pathPieces: Uint32Array | undefined
  /** Where its pieces are in the spool, once it is there. */
  readonly starts: Uint32Array
  #bytes: Uint8Array | undefined
  #spool: BlockSpool | undefined
  #spoolStart = 0

  constructor(segmentIds: readonly SegmentId[], { bytes, pieces, pathPieces }: EncodedBlock) {
    this.segmentIds = segmentIds
    this.#bytes = bytes
    this.pieces = pieces ?? Uint32Array.of(bytes.length << 2)
    this.pathPieces = pathPieces
    this.starts = new Uint32Array(this.pieces.length)
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

  /** A block of these segments; undefined when it lacks something of theirs. */
  add(segmentIds: readonly SegmentId[], block: EncodedBlock): WaitingBlock | undefined {
    if (!block.isWhole) return undefined
    const waiting = new WaitingBlock(segmentIds, block)
    for (const segmentId of segmentIds) this.#blocks.set(segmentId, waiting)
    return waiting
  }

  /** Its bytes will be somebody else's. */
  remove({ segmentIds }: WaitingBlock): void {
    for (const segmentId of segmentIds) this.#blocks.delete(segmentId)
  }

  /** Lets through the segments that may have all of the literals, and those that are not here. */
  prefilter(literals: readonly RequiredLiteral[]): Prefilter {
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
  /** What was said of the block before: the next segment may be in it, too. */
  #last: { readonly block: WaitingBlock; readonly mayHold: boolean } | undefined
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
    if (this.#last?.block !== block) this.#last = { block, mayHold: this.#mayHold(block) }
    return this.#last.mayHold
  }

  #mayHold(block: WaitingBlock): boolean {
    if (!this.#tryReadPaths(block)) return true
    return this.#required.every((alternatives) => {
      return alternatives.some(({ path, finder }) => {
        const [from, to] = this.#piecesOf(block, path)
        for (let piece = from; piece < to; piece++) {
          const bytes = block.tryRead(piece, this.#scratch)
          if (bytes === undefined || finder.mayBeIn(bytes)) return true
        }
        return false
      })
    })
  }

  /** False when the block's bytes are gone. */
  #tryReadPaths(block: WaitingBlock): boolean {
    const first = block.pathPieces?.[0]
    if (first === undefined) return true
    const names = block.tryRead(first - 1, this.#scratch)
    if (names === undefined) return false
    if (this.#names === undefined || !this.#names.equals(names)) {
      this.#names = Buffer.from(names)
      this.#paths = readPaths(this.#names)
    }
    return true
  }

  /** Where a path's values are, or all; in the shared table's blocks they are not apart. */
  #piecesOf(
    { pieces, pathPieces }: WaitingBlock,
    path: string | undefined,
  ): readonly [from: number, to: number] {
    if (pathPieces === undefined) return [0, pieces.length]
    const index = path === undefined ? 0 : this.#paths.get(path)
    if (index === undefined || pathPieces.length === 0) return NO_PIECES
    const next = path === undefined ? undefined : pathPieces[index + 1]
    // A path's first piece says which rows have it.
    return [pathPieces[index]! + 1, next ?? pieces.length]
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
