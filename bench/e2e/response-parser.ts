/**
 * Just enough HTTP/1.1 to read an ingest reply: status, Retry-After, and a body framed by
 * Content-Length. Anything else is an error, so that a misread reply can never pass for success.
 */

export interface HttpResponse {
  readonly status: number
  readonly body: string
  readonly retryAfterSeconds: number | undefined
  /** The server will close the connection after this response. */
  readonly isLast: boolean
}

const HEAD_END = Buffer.from('\r\n\r\n')

export class ResponseParser {
  /** What arrived of a response that is not complete yet. */
  #pending: Buffer | undefined

  /** Returns the response that `chunk` completes. One request is in flight, so there is but one. */
  push(chunk: Buffer): HttpResponse | undefined {
    let bytes = this.#pending === undefined ? chunk : Buffer.concat([this.#pending, chunk])
    this.#pending = undefined
    for (;;) {
      const headEnd = bytes.indexOf(HEAD_END)
      if (headEnd < 0) return this.#keep(bytes)
      const head = bytes.toString('latin1', 0, headEnd)
      const status = parseStatus(head)
      const bodyStart = headEnd + HEAD_END.length
      if (status < 200) {
        bytes = bytes.subarray(bodyStart) // 100 Continue: the response proper follows.
        continue
      }
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
      if (length === undefined && status !== 204) throw new Error('response without Content-Length')
      const bodyEnd = bodyStart + Number(length ?? 0)
      if (bytes.length < bodyEnd) return this.#keep(bytes)
      if (bytes.length > bodyEnd) throw new Error('bytes after the response')
      const retryAfter = status < 300 ? undefined : /\r\nretry-after: *(\d+)/i.exec(head)?.[1]
      return {
        status,
        body: bytes.toString('latin1', bodyStart, bodyEnd),
        retryAfterSeconds: retryAfter === undefined ? undefined : Number(retryAfter),
        isLast: /\r\nconnection: *close/i.test(head),
      }
    }
  }

  /** Chunks live in a buffer that the socket fills again, so what is kept must be copied. */
  #keep(bytes: Buffer): undefined {
    if (bytes.length > 0) this.#pending = Buffer.from(bytes)
    return undefined
  }
}

function parseStatus(head: string): number {
  const status = head.startsWith('HTTP/1.1 ') ? Number(head.slice(9, 12)) : Number.NaN
  if (!(status >= 100)) throw new Error('not an HTTP/1.1 response')
  return status
}
