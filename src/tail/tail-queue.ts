/**
 * What is still to be sent to one reader, in order. Bounded: past the bound the oldest are dropped,
 * and a gap replaces them. A gap is sent where the missing events would have been, so a cursor
 * after it covers them.
 */
import { TAIL_QUEUE_BYTES_MAX, TAIL_QUEUE_EVENTS_MAX } from '../limits.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'

export type LeftOut =
  /** The reader was slower than the events. */
  | 'slow_reader'
  /** The service had too much to do to match all events: these were not matched. */
  | 'busy'
  /** More was missed than a tail catches up on: these were not matched. */
  | 'too_far_back'
  /** The query took too much work on these events; some of them may have been sent. */
  | 'query_cost'
  /** `limit_per_s`. */
  | 'sampled'
  | 'several'

export interface QueuedEvent {
  readonly kind: 'event'
  readonly record: Uint8Array
  readonly cursor: string
  readonly segmentId: SegmentId
  /** When its segment was heard of, monotonic. */
  readonly atMs: number
}

/** Events that are not sent. */
export interface QueuedGap {
  readonly kind: 'gap'
  reason: LeftOut
  events: number
  /** Whether all of them match; else the number counts events that were not matched. */
  isExact: boolean
  /** Receipt times, in milliseconds, both included. */
  fromMs: number
  toMs: number
  /** After the last of them. */
  cursor: string
}

export type QueueItem = QueuedEvent | QueuedGap

export class TailQueue {
  /** What was dropped from the front. */
  #dropped: QueuedGap | undefined
  #items: QueueItem[] = []
  #first = 0
  #bytes = 0
  #events = 0

  get isEmpty(): boolean {
    return this.#dropped === undefined && this.#first === this.#items.length
  }

  push(event: QueuedEvent): void {
    this.#items.push(event)
    this.#events++
    this.#bytes += event.record.length
    // One event is kept, however large.
    while (this.#isOver && this.#events > 1) this.#dropOldest()
  }

  /** Appends a gap: events that are not sent. */
  pushGap(gap: QueuedGap): void {
    const last = this.#items.at(-1)
    const isLast = this.#items.length > this.#first && last?.kind === 'gap'
    if (isLast && last.reason === gap.reason) extend(last, gap)
    else this.#items.push({ ...gap })
    // Gaps of several reasons may follow each other.
    if (this.#items.length - this.#first > 2 * TAIL_QUEUE_EVENTS_MAX) this.#dropOldest()
  }

  take(): QueueItem | undefined {
    const dropped = this.#dropped
    this.#dropped = undefined
    return dropped ?? this.#shift()
  }

  get #isOver(): boolean {
    return this.#events > TAIL_QUEUE_EVENTS_MAX || this.#bytes > TAIL_QUEUE_BYTES_MAX
  }

  #dropOldest(): void {
    const item = this.#shift()
    if (item === undefined) return
    const gap = item.kind === 'gap' ? item : gapOf(item)
    if (this.#dropped === undefined) this.#dropped = gap
    else extend(this.#dropped, gap)
  }

  #shift(): QueueItem | undefined {
    const item = this.#items[this.#first]
    if (item === undefined) return undefined
    if (item.kind === 'event') {
      this.#events--
      this.#bytes -= item.record.length
    }
    this.#first++
    if (this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
    return item
  }
}

function gapOf({ segmentId, cursor }: QueuedEvent): QueuedGap {
  const ms = segmentIdMs(segmentId)
  const reason = 'slow_reader'
  return { kind: 'gap', reason, events: 1, isExact: true, fromMs: ms, toMs: ms, cursor }
}

function extend(gap: QueuedGap, more: QueuedGap): void {
  if (gap.reason !== more.reason) gap.reason = 'several'
  gap.events += more.events
  gap.isExact &&= more.isExact
  gap.fromMs = Math.min(gap.fromMs, more.fromMs)
  gap.toMs = Math.max(gap.toMs, more.toMs)
  gap.cursor = more.cursor
}
