/**
 * What one listener has read and what is not committed yet: a batch that is being filled, batches
 * that wait for their turn, batches under way. Each batch is a request of ingest.
 *
 * All senders of a listener share its batches. One goes when it is full, or SYSLOG_WAIT_MS after
 * its first message, so a thousand quiet senders cost no more batches than one does.
 *
 * Guarantee: a message that was added is committed, or counted as dropped. What is refused for now
 * is sent again, the oldest first, until the service stops; nothing new is begun meanwhile. Nobody
 * is told what was committed: syslog has no answers. A batch whose outcome nobody knows is sent
 * again, so it may be stored twice.
 */
import { ERRORS, IngestError, OutcomeUnknownError } from '../../../errors.ts'
import { BATCH_BYTES_TARGET, SYSLOG_QUEUE_BYTES_MAX } from '../../../limits.ts'
import { SYSLOG_HEAD_BYTES, type SyslogPartOptions } from '../../../model/batch/syslog-part.ts'
import { type Dialect, type Sender, wholeBody } from '../../dialect.ts'
import { documentFormat } from '../../framing/body-format.ts'
import { type IngestDeps, ingest } from '../../request/ingest.ts'
import { writeRecord } from './syslog-record.ts'

/** How long a message waits for others. */
export const SYSLOG_WAIT_MS = 100
/** Batches that are not committed; what has no turn meanwhile goes on being filled. */
const UNDER_WAY_MAX = 16
/**
 * Records of one turn of the event loop, when their senders can wait: of the smallest messages so
 * many take some 20 ms.
 */
const TURN_BYTES_MAX = 1024 * 1024
/** Of a batch's buffer; it doubles from there. */
const BUFFER_BYTES_MIN = 16 * 1024
/** Buffers of full batches that are kept for the next ones. */
const SPARE_BUFFERS_MAX = 2
/** The queue has room again when so much of it is free. */
const ROOM_SHARE = 0.5
/** After a fault that has no time of its own. */
const RETRY_SECONDS = 1

const FORMAT = documentFormat('syslog', 'binary')

/** Whose messages are in a batch. */
export interface Contributor {
  /** So many bytes more of it are in the queue, or fewer. */
  readonly queued: (bytes: number) => void
}

export interface QueueParts {
  readonly deps: IngestDeps
  /** Who sends, for each batch. */
  readonly sender: () => Promise<Sender>
  readonly options: SyslogPartOptions
  /** There is room again after `isFull` or `mustWait`. */
  readonly onRoom: () => void
  /** The messages of a batch are lost: for good, or because the service stops. */
  readonly onDropped: (messages: number, error: IngestError) => void
}

interface Batch {
  readonly number: number
  buffer: Uint8Array
  length: number
  messages: number
  readonly from: Map<Contributor, number>
}

export class SyslogQueue {
  readonly #parts: QueueParts
  readonly #dialect: Dialect
  #open: Batch | undefined
  #timer: NodeJS.Timeout | undefined
  /** Full, or refused before; the oldest first. */
  readonly #waiting: Batch[] = []
  readonly #spare: Uint8Array[] = []
  /** The batch that is being filled has waited for long enough. */
  #isDue = false
  #batches = 0
  #bytes = 0
  #underWay = 0
  /** Added in this turn of the event loop. */
  #turnBytes = 0
  #isFull = false
  /** The last batch was refused: one at a time from now on, until one gets in. */
  #isRefused = false
  #retryTimer: NodeJS.Timeout | undefined
  #isPumping = false
  #isStopped = false
  #whenEmpty: (() => void) | undefined

  constructor(parts: QueueParts) {
    this.#parts = parts
    this.#dialect = {
      surface: 'syslog',
      replyFormat: 'syslog',
      plan: () => ({ format: FORMAT, partOptions: parts.options }),
      // Events that are no good are counted one by one; nobody can be told.
      judge: () => undefined,
      answer: () => '',
    }
  }

  /** Bytes that are not committed. */
  get bytes(): number {
    return this.#bytes
  }

  /** Set until there is room again. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Who can wait should not add to it until `onRoom`: it is full, or others want their turn. */
  get mustWait(): boolean {
    return this.#isFull || this.#turnBytes > TURN_BYTES_MAX
  }

  /** Copies the message. Hot. */
  add(peer: Uint8Array, message: Uint8Array, isCut: boolean, from?: Contributor): void {
    const size = SYSLOG_HEAD_BYTES + peer.length + message.length
    if (this.#open !== undefined && this.#open.length + size > BATCH_BYTES_TARGET) this.#close()
    const batch = this.#open ?? this.#begin()
    const end = batch.length + size
    if (end > batch.buffer.length) this.#grow(batch, end)
    writeRecord(batch.buffer, batch.length, peer, message, isCut)
    batch.length = end
    batch.messages++
    this.#bytes += size
    if (from !== undefined) {
      batch.from.set(from, (batch.from.get(from) ?? 0) + size)
      from.queued(size)
    }
    if (this.#bytes >= SYSLOG_QUEUE_BYTES_MAX) this.#isFull = true
    if (this.#turnBytes === 0) setImmediate(() => this.#endTurn())
    this.#turnBytes += size
  }

  /** Commits what is there; what is not after `waitMs` is dropped. Nothing is added any more. */
  async stop(waitMs: number): Promise<void> {
    this.#isDue = true
    this.#pump()
    if (this.#bytes > 0) {
      const empty = new Promise<void>((resolve) => {
        this.#whenEmpty = resolve
      })
      const late = setTimeout(() => this.#whenEmpty?.(), waitMs)
      await empty
      clearTimeout(late)
    }
    this.#isStopped = true
    clearTimeout(this.#retryTimer)
    clearTimeout(this.#timer)
    const stopped = new IngestError('unavailable', 'the service stopped before it was committed')
    for (let batch = this.#take(); batch !== undefined; batch = this.#take()) {
      this.#underWay++
      this.#drop(batch, stopped)
    }
  }

  #endTurn(): void {
    const isOver = this.#turnBytes > TURN_BYTES_MAX
    this.#turnBytes = 0
    if (isOver && !this.#isFull) this.#parts.onRoom()
  }

  #begin(): Batch {
    const buffer = this.#spare.pop() ?? new Uint8Array(BUFFER_BYTES_MIN)
    const batch = { number: this.#batches++, buffer, length: 0, messages: 0, from: new Map() }
    this.#open = batch
    this.#timer = setTimeout(() => {
      this.#isDue = true
      this.#pump()
    }, SYSLOG_WAIT_MS)
    return batch
  }

  #grow(batch: Batch, bytesMin: number): void {
    const size = Math.max(bytesMin, Math.min(4 * batch.buffer.length, BATCH_BYTES_TARGET))
    const grown = Buffer.allocUnsafeSlow(size)
    grown.set(batch.buffer.subarray(0, batch.length))
    batch.buffer = grown
  }

  /** The batch that is being filled is full. */
  #close(): void {
    this.#waiting.push(this.#takeOpen()!)
    this.#pump()
  }

  #takeOpen(): Batch | undefined {
    clearTimeout(this.#timer)
    this.#isDue = false
    const batch = this.#open
    this.#open = undefined
    return batch
  }

  #take(): Batch | undefined {
    return this.#waiting.shift() ?? (this.#isDue ? this.#takeOpen() : undefined)
  }

  get #hasTurn(): boolean {
    if (this.#retryTimer !== undefined || this.#isStopped) return false
    if (this.#underWay >= (this.#isRefused ? 1 : UNDER_WAY_MAX)) return false
    return this.#waiting.length > 0 || (this.#isDue && this.#open !== undefined)
  }

  #pump(): void {
    if (this.#isPumping || !this.#hasTurn) return
    this.#isPumping = true
    void this.#send()
  }

  /** Never rejects. */
  async #send(): Promise<void> {
    while (this.#hasTurn) {
      let sender: Sender | undefined
      let fault: IngestError | undefined
      try {
        sender = await this.#parts.sender()
      } catch (cause) {
        fault = IngestError.from(cause, 'unavailable')
      }
      const batch = this.#take()
      if (batch === undefined) break
      this.#underWay++
      if (sender !== undefined) this.#ingest(batch, sender)
      else this.#failed(batch, fault!)
    }
    this.#isPumping = false
  }

  #ingest(batch: Batch, sender: Sender): void {
    const { deps } = this.#parts
    const body = batch.buffer.subarray(0, batch.length)
    ingest(deps, {
      dialect: this.#dialect,
      responder: {
        accept: () => {
          this.#isRefused = false
          this.#done(batch)
          return 200
        },
        refuse: (error) => {
          this.#failed(batch, error)
          return ERRORS[error.code].httpStatus
        },
        drop: () => {
          this.#failed(batch, IngestError.from(new OutcomeUnknownError(), 'unavailable'))
        },
      },
      sender,
      body: wholeBody(body),
      contentLength: body.length,
      contentEncoding: '',
      idempotencyKey: undefined,
      events: batch.messages,
    })
  }

  #failed(batch: Batch, error: IngestError): void {
    if (this.#isStopped || !ERRORS[error.code].retryable) return this.#drop(batch, error)
    this.#underWay--
    this.#isRefused = true
    this.#waiting.push(batch)
    this.#waiting.sort((a, b) => a.number - b.number)
    const waitMs = 1000 * (error.retrySeconds ?? RETRY_SECONDS)
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined
      this.#pump()
    }, waitMs).unref()
  }

  #drop(batch: Batch, error: IngestError): void {
    this.#parts.onDropped(batch.messages, error)
    this.#done(batch)
  }

  /** Nothing of the batch is needed any more; it was under way. */
  #done(batch: Batch): void {
    this.#underWay--
    for (const [contributor, bytes] of batch.from) contributor.queued(-bytes)
    this.#bytes -= batch.length
    const isSpare = batch.buffer.length >= BATCH_BYTES_TARGET / 2
    if (isSpare && this.#spare.length < SPARE_BUFFERS_MAX) this.#spare.push(batch.buffer)
    if (this.#isFull && this.#bytes <= SYSLOG_QUEUE_BYTES_MAX * ROOM_SHARE) {
      this.#isFull = false
      this.#parts.onRoom()
    }
    if (this.#bytes === 0) this.#whenEmpty?.()
    this.#pump()
  }
}
