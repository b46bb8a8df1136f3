/** Whole request bodies, for the surfaces that need them whole: management, queries, OTLP. */
import { IngestError } from '../errors.ts'
import { REST_BODY_BYTES_MAX } from '../limits.ts'
import type { BodyConsumer, Exchange } from './exchange.ts'

/**
 * Resolves with a copy of the whole body. Rejects with `too_large` as soon as the declared length
 * or the bytes exceed `bytesMax`, and with `malformed` when the client goes away before the end.
 * Must be called before the handler's first call returns.
 */
export function readBody(exchange: Exchange, bytesMax: number): Promise<Uint8Array> {
  // An absent, chunked or nonsensical length is 0 here. What is declared takes no memory yet.
  const declaredBytes = Math.max(0, Number(exchange.header('content-length')) || 0)
  if (declaredBytes > bytesMax) return Promise.reject(tooLarge(bytesMax))
  return new Promise((resolve, reject) => {
    exchange.readBody(new BodyCollector(bytesMax, resolve, reject))
  })
}

/**
 * Resolves with the parsed JSON body. Rejects like `readBody`, with `unsupported_media_type` for
 * another media type or any content encoding, and with `malformed` for a syntax error.
 */
export async function readJsonBody(
  exchange: Exchange,
  bytesMax: number = REST_BODY_BYTES_MAX,
): Promise<unknown> {
  const mediaType = mediaTypeOf(exchange.header('content-type'))
  if (mediaType !== '' && mediaType !== 'application/json' && !mediaType.endsWith('+json')) {
    throw new IngestError('unsupported_media_type', 'send the body as application/json')
  }
  const encoding = exchange.header('content-encoding').trim().toLowerCase()
  if (encoding !== '' && encoding !== 'identity') {
    throw new IngestError('unsupported_media_type', 'this path takes no Content-Encoding')
  }
  return parseJson(await readBody(exchange, bytesMax))
}

/** The media type of a `Content-Type` value, lower case and without parameters. */
export function mediaTypeOf(contentType: string): string {
  const semicolon = contentType.indexOf(';')
  return (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase()
}

class BodyCollector implements BodyConsumer {
  readonly #bytesMax: number
  readonly #resolve: (body: Uint8Array) => void
  readonly #reject: (error: IngestError) => void
  #bytes = new Uint8Array(0)
  #length = 0
  #settled = false

  constructor(
    bytesMax: number,
    resolve: (body: Uint8Array) => void,
    reject: (error: IngestError) => void,
  ) {
    this.#bytesMax = bytesMax
    this.#resolve = resolve
    this.#reject = reject
  }

  chunk(bytes: Uint8Array, isLast: boolean): void {
    if (this.#settled) return
    const end = this.#length + bytes.length
    if (end > this.#bytesMax) {
      this.#fail(tooLarge(this.#bytesMax))
      return
    }

    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.min(this.#bytesMax, Math.max(end, 2 * this.#length)))
      grown.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = grown
    }
    this.#bytes.set(bytes, this.#length)
    this.#length = end
    if (!isLast) return
    this.#settled = true
    this.#resolve(this.#bytes.subarray(0, end))
  }

  aborted(): void {
    if (!this.#settled) this.#fail(new IngestError('malformed', 'the body ended early'))
  }

  #fail(error: IngestError): void {
    this.#settled = true
    this.#reject(error)
  }
}

function tooLarge(bytesMax: number): IngestError {
  return new IngestError('too_large', `the body is over the limit of ${bytesMax} bytes`)
}

function parseJson(body: Uint8Array): unknown {
  if (body.length === 0) throw new IngestError('malformed', 'a JSON body is expected, got none')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    // The engine's own message quotes the text, which may be a secret: only its position is told.
    const position = /position (\d+)/.exec(String(cause))?.[1]
    const where = position === undefined ? '' : ` at position ${position}`
    throw new IngestError('malformed', `the body is not valid JSON${where}`, { cause })
  }
}
