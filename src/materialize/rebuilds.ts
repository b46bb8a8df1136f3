/**
 * Lets the pool rebuild segments, several small ones of a stream at a time. A segment of a thousand
 * events takes a worker two milliseconds; given one by one, the worker would wait about as long
 * again for the next.
 *
 * While as many tasks run as are useful, further segments gather and share the next task.
 */
import type { EncodedBlock } from '../model/batch/encoded-block.ts'
import type { LoadedRow, SegmentPart } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'

/** Tasks in which they go, and events of one that has several. */
export const REPLAY_TASKS_MAX = 3
export const REPLAY_TASK_EVENTS_MAX = 4_096

/** What of a row is to be rebuilt. */
export interface ToRebuild {
  readonly payload: Uint8Array
  readonly part: SegmentPart
}

/** Rebuilds segments of one stream, in their order, or rejects. */
export type RunRebuild = (
  streamId: StreamId,
  segments: readonly ToRebuild[],
) => Promise<readonly EncodedBlock[]>

interface Asked extends ToRebuild {
  readonly streamId: StreamId
  readonly events: number
  readonly resolve: (block: EncodedBlock) => void
  readonly reject: (cause: unknown) => void
}

export class Rebuilds {
  readonly #run: RunRebuild
  readonly #waiting: Asked[] = []
  #running = 0

  constructor(run: RunRebuild) {
    this.#run = run
  }

  /** Rejects with the segment's own failure, never with that of one it went with. */
  rebuild({ streamId, payload, eventCount }: LoadedRow, part: SegmentPart) {
    return new Promise<EncodedBlock>((resolve, reject) => {
      this.#waiting.push({ streamId, payload, part, events: eventCount, resolve, reject })
      this.#startNext()
    })
  }

  #startNext(): void {
    while (this.#running < REPLAY_TASKS_MAX) {
      const asked = this.#takeGroup()
      if (asked.length === 0) return
      this.#running++
      void this.#rebuild(asked).finally(() => {
        this.#running--
        this.#startNext()
      })
    }
  }

  /** The next ones of one stream; more than one only if they are small. */
  #takeGroup(): Asked[] {
    const [first] = this.#waiting
    let count = 0
    let events = 0
    for (const next of this.#waiting) {
      events += next.events
      const isTooMuch = count > 0 && events > REPLAY_TASK_EVENTS_MAX
      if (next.streamId !== first!.streamId || isTooMuch) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  /** Never rejects. */
  async #rebuild(asked: readonly Asked[]): Promise<void> {
    const { streamId } = asked[0]!
    try {
      const blocks = await this.#run(
        streamId,
        asked.map(({ payload, part }) => ({ payload, part })),
      )
      for (const [i, { resolve }] of asked.entries()) resolve(blocks[i]!)
    } catch (cause) {
      if (asked.length === 1) return asked[0]!.reject(cause)
      // One of them is to blame: each by itself.
      for (const each of asked) await this.#rebuild([each])
    }
  }
}
