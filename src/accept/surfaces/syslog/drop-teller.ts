/**
 * Tells of messages that were lost before ingest saw them: to the stream, as refusals with their
 * number, once a second; to the log, a line a minute at most.
 */
import { ERRORS, type IngestError } from '../../../errors.ts'
import type { StreamId } from '../../../model/stream.ts'
import type { Log } from '../../../telemetry/log.ts'
import type { IngestMeter } from '../../request/ingest.ts'

const TELL_MS = 1_000
const LOG_MS = 60_000

export interface DropTellerParts {
  readonly meter: Pick<IngestMeter, 'onReply' | 'onRefused'>
  readonly log: Pick<Log, 'warn'>
  /** As people named it. */
  readonly listener: string
  readonly streamId: StreamId
  readonly nowMs?: () => number
}

interface Lost {
  readonly error: IngestError
  messages: number
  bytes: number
}

export class DropTeller {
  readonly #parts: DropTellerParts
  /** By message of the error, of which there are few. */
  readonly #lost = new Map<string, Lost>()
  #timer: NodeJS.Timeout | undefined
  #unlogged = 0
  #loggedAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: DropTellerParts) {
    this.#parts = parts
  }

  add(error: IngestError, messages: number, bytes = 0): void {
    const known = this.#lost.get(error.message)
    if (known === undefined) this.#lost.set(error.message, { error, messages, bytes })
    else {
      known.messages += messages
      known.bytes += bytes
    }
    this.#timer ??= setTimeout(() => this.tell(), TELL_MS)
  }

  /** For the log alone: the stream knows already. */
  log(error: IngestError, messages: number): void {
    const { log, listener, nowMs = () => performance.now() } = this.#parts
    this.#unlogged += messages
    if (nowMs() - this.#loggedAtMs < LOG_MS) return
    this.#loggedAtMs = nowMs()
    const fields = { listener, messages: this.#unlogged, reason: error.message }
    log.warn(fields, 'syslog messages were lost')
    this.#unlogged = 0
  }

  /** Tells what was gathered. */
  tell(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { meter, streamId } = this.#parts
    for (const { error, messages: events, bytes } of this.#lost.values()) {
      const reason = error.code
      meter.onReply('syslog', ERRORS[reason].httpStatus)
      const who = { streamId, keyId: undefined, presented: '' }
      meter.onRefused({ ...who, error, reason, events, bytes })
      this.log(error, events)
    }
    this.#lost.clear()
  }
}
