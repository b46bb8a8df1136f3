/**
 * Files without a name, in memory where the system has space for them: the data of INSERTs on its
 * way to the embedded ClickHouse. No crash leaves one behind.
 */
import {
  closeSync,
  ftruncateSync,
  openSync,
  readSync,
  statfsSync,
  unlinkSync,
  writeSync,
  writevSync,
} from 'node:fs'
import { join } from 'node:path'

/**
 * Request header that names another process's open file with the data of an INSERT: data that is in
 * memory already need not go through a socket.
 */
export const DATA_FILE_HEADER = 'x-sluice-data-file'

const SHARED_MEMORY = '/dev/shm'
const SHARED_MEMORY_BYTES_MIN = 512 * 1024 * 1024
const GROWTH_BYTES_MIN = 128 * 1024 * 1024
const FREE_FILES_MAX = 2
/** Chunks that the system accepts in one call. */
const VECTOR_MAX = 1_024
/** Files that were not used for this long give their memory back. */
const IDLE_MS_MAX = 60_000

export class MemoryFiles {
  readonly #directory: string
  readonly #idleMsMax: number
  /** Files not in use. They keep their pages: fresh ones cost more than the copy itself. */
  readonly #free: MemoryFile[] = []
  #count = 0
  #idle: NodeJS.Timeout | undefined

  private constructor(directory: string, idleMsMax = IDLE_MS_MAX) {
    this.#directory = directory
    this.#idleMsMax = idleMsMax
  }

  /** In `/dev/shm` where it has space, else in `directory`. */
  static open(directory: string): MemoryFiles {
    return new MemoryFiles(hasRoom(SHARED_MEMORY) ? SHARED_MEMORY : directory)
  }

  /** Undefined where another process of ours could not open them, or there is no space. */
  static tryOpenShared(idleMsMax?: number): MemoryFiles | undefined {
    if (process.platform !== 'linux' || !hasRoom(SHARED_MEMORY)) return undefined
    return new MemoryFiles(SHARED_MEMORY, idleMsMax)
  }

  /** An empty file. Throws the system's error. */
  take(): MemoryFile {
    this.#idle?.refresh()
    return this.#free.pop() ?? this.#create()
  }

  /** An empty file, if there is space for it to grow. */
  tryTake(): MemoryFile | undefined {
    if (!hasRoom(this.#directory, GROWTH_BYTES_MIN)) return undefined
    try {
      return this.take()
    } catch {
      return undefined
    }
  }

  /** Returns a file. Precondition: nobody uses it any more. */
  give(file: MemoryFile): void {
    file.rewind()
    if (this.#free.length < FREE_FILES_MAX) this.#free.push(file)
    else file.close()
    this.#idle ??= setTimeout(() => this.close(), this.#idleMsMax).unref()
  }

  /** Gives up the files that are not in use. */
  close(): void {
    clearTimeout(this.#idle)
    this.#idle = undefined
    for (const file of this.#free.splice(0)) file.close()
  }

  #create(): MemoryFile {
    const name = join(this.#directory, `sluice-insert-${process.pid}-${++this.#count}`)
    const descriptor = openSync(name, 'wx+', 0o600)
    unlinkSync(name)
    return new MemoryFile(descriptor)
  }
}

export class MemoryFile {
  readonly #descriptor: number
  #bytes = 0

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Synchronous: a copy into memory is cheaper than handing it to another thread. */
  append(chunk: Uint8Array): void {
    for (let start = 0; start < chunk.byteLength; ) {
      const left = chunk.byteLength - start
      const count = writeSync(this.#descriptor, chunk, start, left, this.#bytes)
      start += count
      this.#bytes += count
    }
  }

  /** The same for many small ones. */
  appendAll(chunks: readonly Uint8Array[]): void {
    for (let first = 0; first < chunks.length; first += VECTOR_MAX) {
      const some = chunks.slice(first, first + VECTOR_MAX)
      let bytes = 0
      for (const chunk of some) bytes += chunk.byteLength
      const written = writevSync(this.#descriptor, some, this.#bytes)
      this.#bytes += written
      if (written < bytes) this.#appendRest(some, written)
    }
  }

  /** Writes what a partial write left over; on a full disk this is the call that fails. */
  #appendRest(chunks: readonly Uint8Array[], written: number): void {
    let skip = written
    for (const chunk of chunks) {
      if (skip < chunk.byteLength) this.append(chunk.subarray(skip))
      skip = Math.max(0, skip - chunk.byteLength)
    }
  }

  /** Fills `into` from `start` on. Synchronous, as appending is. Throws past the end. */
  read(start: number, into: Uint8Array): void {
    if (start + into.byteLength > this.#bytes) throw new RangeError('the file ends before that')
    for (let at = 0; at < into.byteLength; ) {
      const left = into.byteLength - at
      const count = readSync(this.#descriptor, into, at, left, start + at)
      if (count === 0) throw new RangeError('the file ends before that')
      at += count
    }
  }

  /** Cuts off what an earlier use has left past the end. */
  finish(): void {
    ftruncateSync(this.#descriptor, this.#bytes)
  }

  rewind(): void {
    this.#bytes = 0
  }

  /** The path where this process can open it again. */
  get ownPath(): string {
    const descriptors = process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd'
    return `${descriptors}/${this.#descriptor}`
  }

  /** The path where any process of the same user can open it while it is open here. Linux. */
  get sharedPath(): string {
    return `/proc/${process.pid}/fd/${this.#descriptor}`
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

function hasRoom(directory: string, bytes = SHARED_MEMORY_BYTES_MIN): boolean {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize >= bytes
  } catch {
    return false
  }
}
