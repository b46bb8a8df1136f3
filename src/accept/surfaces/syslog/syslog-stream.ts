/**
 * The stream that a listener belongs to, as it is now: settings are looked up again as often as
 * those of keys are, and once more before a commit when what is known is old.
 */
import { IngestError } from '../../../errors.ts'
import { CONTROL_POLL_MS, CONTROL_STALE_MS_MAX } from '../../../limits.ts'
import type { Stream, StreamId } from '../../../model/stream.ts'
import type { Sender } from '../../dialect.ts'

export type FindStream = (streamId: StreamId) => Promise<Stream | undefined>

export class SyslogStream {
  readonly streamId: StreamId
  readonly #find: FindStream
  readonly #nowMs: () => number
  #known: Stream
  #knownAtMs: number
  #looking: Promise<Stream> | undefined

  constructor(stream: Stream, find: FindStream, nowMs: () => number = () => performance.now()) {
    this.streamId = stream.streamId
    this.#known = stream
    this.#find = find
    this.#nowMs = nowMs
    this.#knownAtMs = nowMs()
  }

  /** Rejects with `not_found` when the stream is deleted, and when the store is away. */
  async sender(): Promise<Sender> {
    if (this.#ageMs > CONTROL_POLL_MS) await this.#look()
    return {
      stream: this.#known,
      isCurrent: () => this.#ageMs <= CONTROL_STALE_MS_MAX,
      confirm: async () => void (await this.#look()),
    }
  }

  get #ageMs(): number {
    return this.#nowMs() - this.#knownAtMs
  }

  #look(): Promise<Stream> {
    this.#looking ??= this.#read().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #read(): Promise<Stream> {
    const atMs = this.#nowMs()
    const found = await this.#find(this.streamId)
    if (found === undefined) throw new IngestError('not_found', 'the stream is deleted')
    this.#known = found
    this.#knownAtMs = atMs
    return found
  }
}
