/** How the data of an INSERT reaches a ClickHouse: in a file, or in pieces of a fit size. */
import { setImmediate as immediate } from 'node:timers/promises'
import type { MemoryFile, MemoryFiles } from './memory-files.ts'

/** The data of one INSERT, in a file that the embedded engine reads. */
export class InsertSpool {
  readonly #files: MemoryFiles
  readonly #file: MemoryFile
  #isBroken = false
  #isOver = false

  constructor(files: MemoryFiles, file: MemoryFile) {
    this.#files = files
    this.#file = file
  }

  get bytes(): number {
    return this.#file.bytes
  }

  /**
   * Returns where the first piece begins. Throws the system's error when there is no space; the
   * spool is then unusable.
   */
  append(pieces: readonly Uint8Array[]): number {
    const start = this.#file.bytes
    try {
      this.#file.appendAll(pieces)
      return start
    } catch (cause) {
      this.#isBroken = true
      throw cause
    }
  }

  /** Fills `into` with what was appended, from `start` on; false when the spool has ended. */
  tryRead(start: number, into: Uint8Array): boolean {
    if (this.#isOver) return false
    this.#file.read(start, into)
    return true
  }

  finish(): MemoryFile {
    this.#file.finish()
    return this.#file
  }

  /** Precondition: nobody reads it any more. */
  release(): void {
    if (this.#isBroken) return this.abandon()
    this.#isOver = true
    this.#files.give(this.#file)
  }

  /** Ends it where the engine may still be reading the file, which must not be used again. */
  abandon(): void {
    this.#isOver = true
    this.#file.close()
  }
}

/** Bytes that are copied before other work gets a turn. */
const FILL_BYTES = 2 * 1024 * 1024

/** The spool with the chunks in it; undefined when there is no space, so they must be sent. */
export async function tryFillSpool(
  spool: InsertSpool | undefined,
  chunks: readonly Uint8Array[],
): Promise<InsertSpool | undefined> {
  if (spool === undefined) return undefined
  try {
    let first = 0
    let unseen = 0
    for (const [i, chunk] of chunks.entries()) {
      unseen += chunk.length
      if (unseen < FILL_BYTES) continue
      spool.append(chunks.slice(first, i + 1))
      first = i + 1
      unseen = 0
      await immediate()
    }
    spool.append(chunks.slice(first))
    return spool
  } catch {
    spool.release()
    return undefined
  }
}

/** Pieces of an insert up to SMALL are joined before they are sent, up to JOINED at a time. */
const SMALL_BYTES_MAX = 64 * 1024
const JOINED_BYTES_MAX = 1024 * 1024

/** Small pieces together: each chunk would be a write to the socket. Large ones are not copied. */
export function* joinSmall(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  let small: Uint8Array[] = []
  let bytes = 0
  for (const piece of pieces) {
    const isSmall = piece.length <= SMALL_BYTES_MAX
    if (!isSmall || bytes + piece.length > JOINED_BYTES_MAX) {
      if (bytes > 0) yield copied(small, bytes)
      small = []
      bytes = 0
    }
    if (isSmall) {
      small.push(piece)
      bytes += piece.length
    } else {
      yield piece
    }
  }
  if (bytes > 0) yield copied(small, bytes)
}

/** Not `Buffer.concat`, which copies shared memory byte by byte. */
function copied(pieces: readonly Uint8Array[], bytes: number): Uint8Array {
  if (pieces.length === 1) return pieces[0]!
  const copy = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const piece of pieces) {
    if (piece.length > 0) copy.fill(piece, at, at + piece.length)
    at += piece.length
  }
  return copy
}

export function* bufferViews(chunks: Iterable<Uint8Array>): Generator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}
