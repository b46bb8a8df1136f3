/**
 * Refuses ingest into streams that are too far over their cap, and into all streams when the
 * instance is over its own.
 *
 * `check` only looks into a set. Which streams are over their cap is read from the store
 * periodically, by the rule that retention follows. While the store is away, the last reading
 * counts.
 */
import { debuglog } from 'node:util'
import { IngestError } from '../../errors.ts'
import type { StreamId } from '../../model/stream.ts'
import type { StorageState } from '../../store/raw/storage-store.ts'

/** How often a node looks which streams are over their cap. */
export const STORAGE_POLL_MS = 1_000

export interface StorageCapsOptions {
  readonly readState: (options: { readonly total: boolean }) => Promise<StorageState>
  /** Bytes of the whole instance; undefined for no cap. */
  readonly storageBytesMax: number | undefined
  readonly pollMs?: number
}

const debug = debuglog('ingest:retain')
/** Retention frees space within a round or two, if there is anything to remove. */
const RETRY_AFTER_SECONDS = 10

export class StorageCaps {
  readonly #options: StorageCapsOptions
  #state: StorageState = { overCap: new Set(), totalBytes: undefined }
  #timer: NodeJS.Timeout | undefined
  #isReading = false

  constructor(options: StorageCapsOptions) {
    this.#options = options
  }

  /** Throws `storage_cap_reached`. */
  check({ streamId }: { readonly streamId: StreamId }): void {
    const { storageBytesMax } = this.#options
    const { overCap, totalBytes } = this.#state
    if (overCap.has(streamId)) {
      throw capReached('the stream is more than a tenth over its max_stored_bytes')
    }
    if (storageBytesMax !== undefined && totalBytes !== undefined && totalBytes > storageBytesMax) {
      throw capReached(
        `all streams together are over ${storageBytesMax} bytes (--storage-max-bytes)`,
      )
    }
  }

  /** Bytes of all streams as last read; 0 when the instance has no cap. */
  get totalBytes(): number {
    return this.#state.totalBytes ?? 0
  }

  /** How many streams are over their cap. */
  get streamsOverCap(): number {
    return this.#state.overCap.size
  }

  /** Resolves when the state was read, or the attempt failed. */
  async start(): Promise<void> {
    const { pollMs = STORAGE_POLL_MS } = this.#options
    this.#timer = setInterval(() => void this.#read(), pollMs).unref()
    await this.#read()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #read(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    const { readState, storageBytesMax } = this.#options
    try {
      this.#state = await readState({ total: storageBytesMax !== undefined })
    } catch (cause) {
      debug('stored bytes cannot be read now: %s', cause)
    } finally {
      this.#isReading = false
    }
  }
}

function capReached(message: string): IngestError {
  return new IngestError('storage_cap_reached', message, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}
