/**
 * The one message of a unary call, as it arrives: five bytes that say whether it is compressed and
 * how long it is, then its bytes. What has come is handed on at once, but for what ends the
 * message, which waits for the end of the call: a small one is whole in one piece then.
 */
import type { ServerHttp2Stream } from 'node:http2'
import { IngestError } from '../../../../errors.ts'
import type { BodyConsumer } from '../../../../http/exchange.ts'
import { BODY_IDLE_MS_MAX } from '../../../../limits.ts'
import type { BodySource } from '../../../dialect.ts'
import { GRPC_HEAD_BYTES } from './grpc-status.ts'

export interface MessageHead {
  readonly isCompressed: boolean
  readonly bytes: number
}

export interface MessageListener {
  /** Called once, before anything is read of the message. */
  readonly onHead: (head: MessageHead) => void
  /** The call is not what gRPC says. Nothing more is handed on. */
  readonly onFault: (error: IngestError) => void
}

const NOTHING = Buffer.alloc(0)

export class GrpcMessage implements BodySource {
  readonly #stream: ServerHttp2Stream
  readonly #listener: MessageListener
  #head = NOTHING
  #left = -1
  #consumer: BodyConsumer | undefined
  /** Not handed on yet: before there is a consumer, and what ends the message. */
  #kept: Buffer[] = []
  #isEnded = false
  #isPaused = false
  #isOver = false

  constructor(stream: ServerHttp2Stream, listener: MessageListener) {
    this.#stream = stream
    this.#listener = listener
    stream.on('data', (bytes: Buffer) => this.#take(bytes))
    stream.on('end', () => this.#end())
    stream.on('close', () => this.#abort())
    stream.setTimeout(BODY_IDLE_MS_MAX, () => {
      if (this.#isPaused || this.#isEnded) return
      const text = `no part of the message came for ${BODY_IDLE_MS_MAX} ms (BODY_IDLE_MS_MAX)`
      this.#fail(new IngestError('too_slow', text))
    })
  }

  readBody(consumer: BodyConsumer): void {
    this.#consumer = consumer
    this.#handOn()
    if (!this.#isPaused) this.#stream.resume()
  }

  pause(): void {
    this.#isPaused = true
    this.#stream.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#stream.resume()
  }

  /** The answer is given: nothing is handed on any more. */
  close(): void {
    this.#isOver = true
    this.#kept = []
  }

  #take(bytes: Buffer): void {
    if (this.#isOver) return
    if (this.#left >= 0) return this.#takeMessage(bytes)
    const head = Buffer.concat([this.#head, bytes])
    this.#head = head
    if (head.length < GRPC_HEAD_BYTES) return
    this.#left = head.readUInt32BE(1)
    if (head[0]! > 1) return this.#fail(new IngestError('malformed', 'this is no gRPC message'))
    this.#stream.pause()
    this.#takeMessage(head.subarray(GRPC_HEAD_BYTES))
    if (!this.#isOver)
      this.#listener.onHead({ isCompressed: head[0] === 1, bytes: head.readUInt32BE(1) })
  }

  #takeMessage(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (bytes.length > this.#left) {
      return this.#fail(new IngestError('malformed', 'the call has more than one message'))
    }
    this.#left -= bytes.length
    this.#kept.push(bytes)
    this.#handOn()
  }

  #end(): void {
    this.#isEnded = true
    this.#stream.setTimeout(0)
    if (this.#isOver) return
    if (this.#left !== 0) {
      return this.#fail(new IngestError('malformed', 'the call ends within its message'))
    }
    this.#handOn()
  }

  #handOn(): void {
    const consumer = this.#consumer
    if (consumer === undefined || this.#isOver) return
    if (this.#isEnded) return consumer.chunk(joined(this.#kept.splice(0)), true)
    const last = this.#left === 0 ? this.#kept.splice(-1) : []
    for (const bytes of this.#kept.splice(0)) consumer.chunk(bytes, false)
    this.#kept.push(...last)
  }

  #fail(error: IngestError): void {
    this.#abort()
    this.#listener.onFault(error)
  }

  /** Nothing more comes of the call; not said where the answer is given. */
  #abort(): void {
    if (this.#isOver) return
    this.close()
    this.#consumer?.aborted()
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}
