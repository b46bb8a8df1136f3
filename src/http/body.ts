/** Whole request bodies, for the surfaces that need them whole: management, queries, OTLP. */
import { IngestError } from '../errors.ts'
import { REST_BODY_BYTES_MAX } from '../limits.ts'
import type { BodyReservation } from './body-budget.ts'
import type { BodyConsumer, Exchange } from './exchange.ts'

/**
 * Resolves with a copy of the whole body. Rejects with `too_large` as soon as the declared length
 * or the bytes exceed `bytesMax`, with `overloaded` when `room` is full, and with `malformed` when
 * the client goes away before the end. Must be called before the handler's first call returns.
 */
export function readBody(
  exchange: Exchange,
  bytesMax: number,
  room?: BodyReservation,
): Promise<Uint8Array> {
  // An absent, chunked or nonsensical length is 0 here. What is declared takes no memory yet.
  const declaredBytes = Math.max(0, Number(exchange.header('content-length')) || 0)
  if (declaredBytes > bytesMax) return Promise.reject(tooLarge(bytesMax))
  return new Promise((resolve, reject) => {
    exchange.readBody(new BodyCollector(bytesMax, room, resolve, reject))
  })
}

/**
 * Resolves with a body that is said to be JSON, for `parseJson`. Rejects like `readBody`, and with
 * `unsupported_media_type` for another media type or any content encoding.
 */
export async function readJsonBody(
  exchange: Exchange,
  bytesMax: number = REST_BODY_BYTES_MAX,
  room?: BodyReservation,
): Promise<Uint8Array> {
  const mediaType = mediaTypeOf(exchange.header('content-type'))
  if (mediaType !== '' && mediaType !== 'application/json' && !mediaType.endsWith('+json')) {
    throw new IngestError('unsupported_media_type', 'send the body as application/json')
  }
  return readPlainBody(exchange, bytesMax, room)
}

/** As `readBody`; rejects any content encoding. */
export async function readPlainBody(
  exchange: Exchange,
  bytesMax: number,
  room?: BodyReservation,
): Promise<Uint8Array> {
  const encoding = exchange.header('content-encoding').trim().toLowerCase()
  if (encoding !== '' && encoding !== 'identity') {
    throw new IngestError('unsupported_media_type', 'this path takes no Content-Encoding')
  }
  return readBody(exchange, bytesMax, room)
}

/** The media type of a `Content-Type` value, lower case and without parameters. */
export function mediaTypeOf(contentType: string): string {
  const semicolon = contentType.indexOf(';')
  return (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase()
}

class BodyCollector implements BodyConsumer {
  readonly #bytesMax: number
  readonly #room: BodyReservation | undefined
  readonly #resolve: (body: Uint8Array) => void
  readonly #reject: (error: IngestError) => void
  #bytes = new Uint8Array(0)
  #length = 0
  #settled = false

  constructor(
    bytesMax: number,
    room: BodyReservation | undefined,
    resolve: (body: Uint8Array) => void,
    reject: (error: IngestError) => void,
  ) {
    this.#bytesMax = bytesMax
    this.#room = room
    room?.onDiscard(() => this.#discard(endedEarly()))
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
      const capacity = Math.min(this.#bytesMax, Math.max(end, 2 * this.#length))
      try {
        this.#room?.hold(capacity)
      } catch (cause) {
        this.#fail(IngestError.from(cause, 'internal'))
        return
      }
      const grown = new Uint8Array(capacity)
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
    this.#discard(endedEarly())
  }

  /** Keeps nothing, and takes nothing more. */
  #discard(error: IngestError): void {
    if (!this.#settled) this.#fail(error)
    this.#bytes = new Uint8Array(0)
  }

  #fail(error: IngestError): void {
    this.#settled = true
    this.#bytes = new Uint8Array(0)
    this.#room?.hold(0)
    this.#reject(error)
  }
}

function endedEarly(): IngestError {
  return new IngestError('malformed', 'the body ended early')
}

function tooLarge(bytesMax: number): IngestError {
  return new IngestError('too_large', `the body is over the limit of ${bytesMax} bytes`)
}

/** Throws `malformed`. */
export function parseJson(body: Uint8Array): unknown {
  if (body.length === 0) throw new IngestError('malformed', 'a JSON body is expected, got none')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    // The engine's own message quotes the text, which may be a secret: only its position is shown.
    const position = /position (\d+)/.exec(String(cause))?.[1]
    const where = position === undefined ? '' : ` at position ${position}`
    throw new IngestError('malformed', `the body is not valid JSON${where}`, { cause })
  }
}
