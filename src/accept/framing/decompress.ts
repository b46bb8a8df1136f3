/**
 * Content-Encoding: decompresses a body as a stream, off the main thread (zlib's own threads), and
 * never past the limit: a bomb costs at most BODY_BYTES_MAX of output.
 */
import zlib from 'node:zlib'
import { IngestError } from '../../errors.ts'
import { BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX, SMALL_COMPRESSED_BYTES_MAX } from '../../limits.ts'

/**
 * What an open decompressor counts as in flight, as measured: gzip and deflate with their window,
 * brotli and zstd beside theirs, which counts as what was put out.
 */
export const INFLATER_BYTES = 160 * 1024
export const WIDE_INFLATER_BYTES = 256 * 1024

export interface DecompressorEvents {
  /** Decompressed bytes, valid after the call too. */
  readonly onBytes: (bytes: Uint8Array) => void
  readonly onEnd: () => void
  readonly onError: (error: IngestError) => void
  /** Compressed input has piled up, or was consumed again: pause or resume the network. */
  readonly onPressure: (isHigh: boolean) => void
}

interface ZlibWithZstd {
  readonly createZstdDecompress?: () => zlib.Gunzip
  readonly zstdDecompressSync?: typeof zlib.gunzipSync
}

const OUTPUT_CHUNK_BYTES = 64 * 1024
const INPUT_BYTES_HIGH = 256 * 1024
const ENCODINGS = ['gzip', 'x-gzip', 'deflate', 'br', 'zstd'] as const
export type Encoding = (typeof ENCODINGS)[number]

/**
 * The encoding that a header value names; undefined for none. Throws `unsupported_media_type`, also
 * for lists of encodings and for zstd on a Node that lacks it.
 */
export function parseContentEncoding(header: string): Encoding | undefined {
  const name = header.trim().toLowerCase()
  if (name === '' || name === 'identity') return undefined
  const known = ENCODINGS.find((encoding) => encoding === name)
  const hasZstd = (zlib as ZlibWithZstd).createZstdDecompress !== undefined
  if (known === undefined || (known === 'zstd' && !hasZstd)) {
    const list = ENCODINGS.filter((encoding) => encoding !== 'zstd' || hasZstd).join(', ')
    throw new IngestError('unsupported_media_type', `Content-Encoding must be one of: ${list}`)
  }
  return known
}

/**
 * Decompresses a small body at once, on this thread: handing it to zlib's threads costs more than
 * the work, which the limits on input and output bound. Undefined when the body is not small, whole
 * and valid: then the streaming decompressor takes it, and says what is wrong.
 */
export function tryDecompressSmall(encoding: Encoding, bytes: Uint8Array): Buffer | undefined {
  if (bytes.length === 0 || bytes.length > SMALL_COMPRESSED_BYTES_MAX) return undefined
  const options = { maxOutputLength: SMALL_BODY_BYTES_MAX, info: true }
  try {
    // With `info`, which the types lack.
    const { buffer, engine } = syncFunction(encoding, bytes[0]!)(bytes, options) as unknown as {
      readonly buffer: Buffer
      readonly engine: { readonly bytesWritten: number }
    }
    return engine.bytesWritten === bytes.length ? buffer : undefined
  } catch {
    return undefined
  }
}

export class Decompressor {
  readonly #encoding: Encoding
  readonly #events: DecompressorEvents
  #stream: zlib.Gunzip | undefined
  #inputBytes = 0
  #isEnded = false
  #outputBytes = 0
  #pendingBytes = 0
  #isHigh = false
  #isOver = false

  constructor(encoding: Encoding, events: DecompressorEvents) {
    this.#encoding = encoding
    this.#events = events
  }

  /** Takes a copy of `bytes`. */
  push(bytes: Uint8Array): void {
    if (this.#isOver || bytes.length === 0) return
    const stream = (this.#stream ??= this.#open(bytes[0]!))
    const copy = Buffer.from(bytes)
    this.#pendingBytes += copy.length
    this.#inputBytes += copy.length
    stream.write(copy, () => this.#consumed(copy.length))
    if (!this.#isHigh && this.#pendingBytes > INPUT_BYTES_HIGH) {
      this.#isHigh = true
      this.#events.onPressure(true)
    }
  }

  /** Memory it holds besides its output: its state, its window, input that piled up. */
  get heldBytes(): number {
    if (this.#stream === undefined || this.#isOver) return 0
    const isWide = this.#encoding === 'br' || this.#encoding === 'zstd'
    // A window is never larger than the whole output so far.
    const state = isWide ? WIDE_INFLATER_BYTES + this.#outputBytes : INFLATER_BYTES
    return state + this.#pendingBytes
  }

  /** No more input. An empty body ends at once. */
  end(): void {
    if (this.#isOver) return
    if (this.#stream === undefined) {
      this.#isOver = true
      this.#events.onEnd()
    } else {
      this.#isEnded = true
      this.#stream.end()
    }
  }

  /** Gives up; no callback is called any more. */
  destroy(): void {
    this.#isOver = true
    this.#stream?.destroy()
  }

  #consumed(bytes: number): void {
    this.#pendingBytes -= bytes
    if (this.#isHigh && !this.#isOver && this.#pendingBytes <= INPUT_BYTES_HIGH / 2) {
      this.#isHigh = false
      this.#events.onPressure(false)
    }
  }

  #open(firstByte: number): zlib.Gunzip {
    const stream = createStream(this.#encoding, firstByte)
    stream.on('data', (bytes: Buffer) => {
      if (this.#isOver) return
      this.#outputBytes += bytes.length
      if (this.#outputBytes > BODY_BYTES_MAX) {
        const text = `decompressed body is over ${BODY_BYTES_MAX} bytes (BODY_BYTES_MAX)`
        this.#fail(new IngestError('too_large', text))
      } else {
        this.#events.onBytes(bytes)
      }
    })
    stream.on('end', () => {
      if (this.#isOver) return
      // What zlib did not read follows the compressed data: it would be silently lost.
      if (!this.#isEnded || stream.bytesWritten !== this.#inputBytes) return this.#failInvalid()
      this.#isOver = true
      this.#events.onEnd()
    })
    stream.on('error', (cause) => {
      if (!this.#isOver) this.#failInvalid(cause)
    })
    return stream
  }

  #failInvalid(cause?: Error): void {
    const text = `the body is not valid ${this.#encoding}`
    this.#fail(new IngestError('malformed', text, { cause }))
  }

  #fail(error: IngestError): void {
    this.destroy()
    this.#events.onError(error)
  }
}

function createStream(encoding: Encoding, firstByte: number): zlib.Gunzip {
  const options = { chunkSize: OUTPUT_CHUNK_BYTES }
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip(options)
    case 'deflate':
      // Some clients send raw deflate under this name; a zlib header always has method 8.
      return (firstByte & 0x0f) === 8 ? zlib.createInflate(options) : zlib.createInflateRaw(options)
    case 'br':
      return zlib.createBrotliDecompress(options)
    case 'zstd':
      // parseContentEncoding has checked that this Node has it.
      return (zlib as unknown as Required<ZlibWithZstd>).createZstdDecompress()
  }
}

function syncFunction(encoding: Encoding, firstByte: number): typeof zlib.gunzipSync {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return zlib.gunzipSync
    case 'deflate':
      return (firstByte & 0x0f) === 8 ? zlib.inflateSync : zlib.inflateRawSync
    case 'br':
      return zlib.brotliDecompressSync
    case 'zstd':
      return (zlib as unknown as Required<ZlibWithZstd>).zstdDecompressSync
  }
}
