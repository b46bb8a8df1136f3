/** Request bodies in, exceptions out: the parts of the HTTP front that know no SQL. */
import type { IncomingMessage } from 'node:http'
import { DATA_FILE_HEADER, MemoryFiles } from '../store/memory-files.ts'

/** The data of an INSERT that is sent, not handed over in a file. */
const BODY_BYTES_MAX = 256 * 1024 * 1024
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
  close(): void
}

/** Data of INSERTs on its way to the engine. */
export class Spool {
  readonly #files: MemoryFiles

  /** `directory` is used where there is no space in memory. */
  constructor(directory: string) {
    this.#files = MemoryFiles.open(directory)
  }

  /** The request's data: in the file that it names, or written to one. */
  async body(request: IncomingMessage): Promise<Spooled> {
    const named = request.headers[DATA_FILE_HEADER]
    if (named === undefined) return await this.#write(bounded(request, BODY_BYTES_MAX))
    if (typeof named !== 'string' || !DATA_FILE.test(named)) {
      throw new RequestRejected(400, `Code: 36. DB::Exception: No such data file. (BAD_ARGUMENTS)`)
    }
    return { path: named, close: () => undefined }
  }

  async #write(chunks: AsyncIterable<Uint8Array>): Promise<Spooled> {
    const file = this.#files.take()
    const close = () => this.#files.give(file)
    try {
      for await (const chunk of chunks) file.append(chunk)
      file.finish()
      return { path: file.ownPath, close }
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
  for await (const chunk of bounded(request, STATEMENT_BYTES_MAX)) chunks.push(chunk)
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

/** The request's body, which fails once it is over `bytesMax`. */
async function* bounded(request: AsyncIterable<Uint8Array>, bytesMax: number) {
  let bytes = 0
  for await (const chunk of request) {
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

/** The exception in `cause`. The client takes any failing status, and the code from the text. */
export function exceptionOf(cause: unknown): { readonly status: number; readonly message: string } {
  const text = (cause instanceof Error ? cause.message : String(cause)).trim()
  const status = cause instanceof RequestRejected ? cause.status : 500
  if (/^Code:\s*\d+/.test(text)) return { status, message: text }
  return { status, message: `Code: 1002. DB::Exception: ${text} (UNKNOWN_EXCEPTION)` }
}
