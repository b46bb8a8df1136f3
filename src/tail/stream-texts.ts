/**
 * Where words without a field are looked for, in streams that have tails, as in a search: in the
 * text fields, or in all strings while the catalog has seen none of them. The catalog is asked when
 * a tail opens, when the setting changes, and now and then while it has seen no text field.
 */
import type { Stream, StreamId } from '../model/stream.ts'
import type { MatchQuery } from '../pool/messages.ts'

export type TextPaths = Required<Pick<MatchQuery, 'textFields' | 'isAllText'>> &
  Pick<MatchQuery, 'isNew'>

export interface FoundText {
  readonly paths: TextPaths
  /** A text field was seen: only another setting changes it. */
  readonly isSettled: boolean
}

/** In the order of the streams. Throws `StoreError`. */
export type FindTexts = (streams: readonly Stream[]) => Promise<readonly FoundText[]>

export interface StreamText extends FoundText {
  /** The stream's setting that it was found for. */
  readonly setting: readonly string[]
  /** When it was asked for, monotonic. */
  readonly atMs: number
}

interface Texted {
  text: StreamText
}

const AGAIN_MS = 2_000

export class StreamTexts {
  readonly #find: FindTexts
  #isRenewing = false

  constructor(find: FindTexts) {
    this.#find = find
  }

  /** Throws `StoreError`. */
  async of(stream: Stream): Promise<StreamText> {
    const atMs = performance.now()
    const [found] = await this.#find([stream])
    return { ...found!, setting: stream.textFields, atMs }
  }

  /** Those that may be others by now; one call at a time. Throws `StoreError`. */
  async renew(
    streams: readonly Stream[],
    tailsOf: (streamId: StreamId) => Texted | undefined,
  ): Promise<void> {
    if (this.#isRenewing) return
    const atMs = performance.now()
    const due = streams.filter((stream) => {
      const tails = tailsOf(stream.streamId)
      return tails !== undefined && isDue(tails.text, stream, atMs)
    })
    if (due.length === 0) return
    this.#isRenewing = true
    try {
      const found = await this.#find(due)
      for (const [index, { streamId, textFields }] of due.entries()) {
        const tails = tailsOf(streamId)
        if (tails !== undefined) tails.text = { ...found[index]!, setting: textFields, atMs }
      }
    } finally {
      this.#isRenewing = false
    }
  }
}

function isDue({ setting, isSettled, atMs }: StreamText, stream: Stream, nowMs: number): boolean {
  if (!isSettled && nowMs - atMs >= AGAIN_MS) return true
  return JSON.stringify(setting) !== JSON.stringify(stream.textFields)
}
