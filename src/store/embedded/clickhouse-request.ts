/** Request bodies in, exceptions out: the parts of the HTTP front that know no SQL. */
import { closeSync, ftruncateSync, openSync, statfsSync, unlinkSync, writeSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'

/** A body after decompression. */
export const BODY_BYTES_MAX = 256 * 1024 * 1024
/** A statement sent as the body. */
const STATEMENT_BYTES_MAX = 16 * 1024 * 1024

/** A request that the front refuses; `message` starts with ClickHouse's `Code: N.`. */
export class RequestRejected extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface Spooled {
  /** A path that the engine, in this process, can open. */
  readonly path: string
  readonly bytes: number
  close(): Promise<void>
}

/** Data of INSERTs on its way to the engine. */
export class Spool {
  readonly #directory: string
  /** Files not in use. They keep their pages: fresh ones cost more than the copy itself. */
  readonly #free: number[] = []
  #count = 0

  /** Prefers memory (`/dev/shm`) where it has room, else `directory`. */
  constructor(directory: string) {
    this.#directory = hasRoom(SHARED_MEMORY) ? SHARED_MEMORY : directory
  }

  /** Writes the body to a file without a name, so that no crash leaves it behind. */
  async body(request: IncomingMessage): Promise<Spooled> {
    return await this.#write(decoded(request, BODY_BYTES_MAX))
  }

  async bytes(bytes: Uint8Array): Promise<Spooled> {
    return await this.#write([bytes])
  }

  async #write(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Spooled> {
    const file = this.#free.pop() ?? this.#create()
    const close = () => {
      if (this.#free.length < FREE_FILES_MAX) this.#free.push(file)
      else closeSync(file)
      return Promise.resolve()
    }
    try {
      let bytes = 0
      for await (const chunk of chunks) {
        // Synchronous: it is a copy into memory, cheaper than handing it to another thread.
        for (let start = 0; start < chunk.byteLength; ) {
          const count = writeSync(file, chunk, start, chunk.byteLength - start, bytes)
          start += count
          bytes += count
        }
      }
      ftruncateSync(file, bytes)
      return { path: `${DESCRIPTORS}/${file}`, bytes, close }
    } catch (cause) {
      await close()
      throw cause
    }
  }

  #create(): number {
    const name = join(this.#directory, `sluice-insert-${process.pid}-${++this.#count}`)
    const file = openSync(name, 'wx+', 0o600)
    unlinkSync(name)
    return file
  }
}

/** Where an open file without a name can be opened again, by its number. */
const DESCRIPTORS = process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd'
const SHARED_MEMORY = '/dev/shm'
const SHARED_MEMORY_BYTES_MIN = 512 * 1024 * 1024
const FREE_FILES_MAX = 2

function hasRoom(directory: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize >= SHARED_MEMORY_BYTES_MIN
  } catch {
    return false
  }
}

/** The body of a request that carries its statement there. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of decoded(request, STATEMENT_BYTES_MAX)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function* decoded(request: IncomingMessage, bytesMax: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of decompressed(request)) {
    bytes += chunk.byteLength
    if (bytes > bytesMax) {
      throw new RequestRejected(
        413,
        `Code: 307. DB::Exception: Body is over ${bytesMax} bytes. (TOO_MANY_BYTES)`,
      )
    }
    yield chunk
  }
}

function decompressed(request: IncomingMessage): Readable {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return request
  if (encoding !== 'gzip' && encoding !== 'deflate') {
    throw new RequestRejected(
      400,
      `Code: 48. DB::Exception: Content-Encoding ${encoding} is not supported. (NOT_IMPLEMENTED)`,
    )
  }
  const inflate = encoding === 'gzip' ? createGunzip() : createInflate()
  // A body that breaks off must fail the read, not end it.
  request.once('error', (cause) => inflate.destroy(cause))
  request.once('aborted', () => inflate.destroy(new Error('client went away')))
  return request.pipe(inflate)
}

export interface Exception {
  readonly status: number
  readonly code: number
  readonly message: string
}

/** The exception in `cause`, with the HTTP status that ClickHouse gives it. */
export function exceptionOf(cause: unknown): Exception {
  const text = (cause instanceof Error ? cause.message : String(cause)).trim()
  const number = /^Code:\s*(\d+)/.exec(text)?.[1]
  if (number === undefined) {
    const message = `Code: 1002. DB::Exception: ${text} (UNKNOWN_EXCEPTION)`
    return { status: isZlibError(cause) ? 400 : 500, code: 1002, message }
  }
  const code = Number(number)
  const status = cause instanceof RequestRejected ? cause.status : statusOf(code)
  return { status, code, message: text }
}

function isZlibError(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && String(cause.code).startsWith('Z_')
}

function statusOf(code: number): number {
  if (NOT_FOUND.has(code)) return 404
  if (BAD_REQUEST.has(code)) return 400
  return SPECIAL.get(code) ?? 500
}

/** Unknown table, function, identifier, type, storage, format, database, setting and the like. */
const NOT_FOUND: ReadonlySet<number> = new Set([
  46, 47, 49, 50, 56, 60, 63, 64, 73, 78, 81, 115, 147, 181, 336, 511,
])

/** What cannot be parsed, cast or makes no sense: the client's statement or data is wrong. */
const BAD_REQUEST: ReadonlySet<number> = new Set([
  6, 15, 16, 20, 26, 27, 33, 36, 38, 39, 40, 41, 42, 43, 44, 52, 53, 57, 61, 62, 69, 70, 72, 80, 82,
  106, 117, 131, 168, 179, 184, 190, 207, 215, 321, 349, 352, 386, 395, 407, 456, 457, 467,
])

const SPECIAL: ReadonlyMap<number, number> = new Map([
  [48, 501], // NOT_IMPLEMENTED
  [159, 408], // TIMEOUT_EXCEEDED
  [192, 403], // UNKNOWN_USER
  [193, 403], // WRONG_PASSWORD
  [202, 503], // TOO_MANY_SIMULTANEOUS_QUERIES
  [236, 503], // ABORTED
  [439, 503], // CANNOT_SCHEDULE_TASK
  [497, 403], // ACCESS_DENIED
  [516, 403], // AUTHENTICATION_FAILED
])
