/** Request bodies in, exceptions out: the parts of the HTTP front that know no SQL. */
import { statSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import { DATA_FILE_HEADER, MemoryFiles } from '../store/memory-files.ts'

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
  close(): void
}

/** Data of INSERTs on its way to the engine. */
export class Spool {
  readonly #files: MemoryFiles

  /** `directory` is for where there is no room in memory. */
  constructor(directory: string) {
    this.#files = MemoryFiles.open(directory)
  }

  /** The request's data: in the file that it names, or written to one. */
  async body(request: IncomingMessage): Promise<Spooled> {
    const named = request.headers[DATA_FILE_HEADER]
    if (named === undefined) return await this.#write(decoded(request, BODY_BYTES_MAX))
    if (typeof named !== 'string' || !DATA_FILE.test(named)) {
      throw new RequestRejected(400, `Code: 36. DB::Exception: No such data file. (BAD_ARGUMENTS)`)
    }
    return { path: named, bytes: statSync(named).size, close: () => undefined }
  }

  async bytes(bytes: Uint8Array): Promise<Spooled> {
    return await this.#write([bytes])
  }

  async #write(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Spooled> {
    const file = this.#files.take()
    const close = () => this.#files.give(file)
    try {
      for await (const chunk of chunks) file.append(chunk)
      file.finish()
      return { path: file.ownPath, bytes: file.bytes, close }
    } catch (cause) {
      close()
      throw cause
    }
  }
}

/** The form of what `DATA_FILE_HEADER` may name, and nothing else. */
const DATA_FILE = /^\/proc\/[1-9][0-9]*\/fd\/[0-9]+$/

/** The body of a request that carries its statement there. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of decoded(request, STATEMENT_BYTES_MAX)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Of a body in parts (RFC 7578); undefined for any other. */
export function multipartBoundary(request: IncomingMessage): string | undefined {
  const type = request.headers['content-type'] ?? ''
  const match = /^multipart\/form-data\s*;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(type)
  return match?.[1] ?? match?.[2]
}

/** Names and values of the parts of a body, as text. */
export function readParts(body: Buffer, boundary: string): [name: string, value: string][] {
  const delimiter = `\r\n--${boundary}`
  // With a line end in front the first delimiter is as the others; the last is followed by `--`.
  const [, ...parts] = `\r\n${body.toString()}`.split(delimiter)
  const isWhole = parts.pop()?.startsWith('--') === true
  const read = parts.map((part): [string, string] | undefined => {
    const headEnd = part.indexOf('\r\n\r\n')
    const name = /\bname="([^"]*)"/i.exec(part.slice(0, Math.max(0, headEnd)))?.[1]
    return name === undefined ? undefined : [name, part.slice(headEnd + 4)]
  })
  const named = read.filter((part) => part !== undefined)
  if (isWhole && named.length === parts.length) return named
  throw new RequestRejected(400, 'Code: 36. DB::Exception: Malformed multipart. (BAD_ARGUMENTS)')
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
