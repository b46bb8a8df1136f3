/**
 * One live tail: what is to be sent to one reader, and sending it as server-sent events.
 *
 *   catch-up ─┐
 *   hub ──▶ queue ─▶ sampling told, gaps told ─▶ reader, as fast as it takes them
 *
 * Each message about events has as its id a cursor after them: a reader that reconnects with it
 * continues there. A message without data moves only the cursor.
 */
import { TAIL_MS_MAX } from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { TailSegment } from './commit-source.ts'
import { Sampler } from './sampler.ts'
import { cursorAt, encodePositions, type NodePositions } from './tail-cursor.ts'
import { type LeftOut, type QueueItem, TailQueue } from './tail-queue.ts'

/** What is written to it at once, or a single event of more. */
export const TAIL_WRITE_BYTES = 64 * 1024
/** After so long without an event a comment is sent, so that nobody takes the line for dead. */
export const TAIL_PING_MS = 15_000

/** Why a tail ends. */
export type TailEnd =
  | 'time_is_up'
  | 'token_not_valid'
  | 'stream_deleted'
  | 'stopping'
  /** The reader is gone; nobody receives it. */
  | 'reader_gone'

/** Where messages go; a streamed reply is one. */
export interface TailWriter {
  readonly isOver: boolean
  write(bytes: Uint8Array): boolean
  whenTaken(): Promise<void>
  drop(): void
}

export interface TailObserver {
  readonly onEvents: (count: number, lagSeconds: number) => void
  readonly onGap: (reason: LeftOut, events: number) => void
}

export interface TailOptions {
  readonly streamId: StreamId
  /** In the query language; it parses. */
  readonly query: string
  readonly limitPerS: number | undefined
  /** Up to where commits were heard of when it began: whatever the hub sends it is after that. */
  readonly heard: NodePositions
  readonly observer: TailObserver
}

/** A record and where it is in its segment. */
export interface TailMatch {
  readonly ordinal: number
  readonly record: Uint8Array
}

/** How long a reader that takes nothing has, at the end, to take what was sent before. */
const END_WAIT_MS_MAX = 500

export class Tail {
  readonly streamId: StreamId
  readonly query: string
  readonly #options: TailOptions
  readonly #queue = new TailQueue()
  readonly #sampler: Sampler | undefined
  /** Where it is; ids of nodes in which the stream's tails lag do not count. */
  readonly #places: Map<number, SegmentId>
  #end: TailEnd | undefined
  #wake: () => void = () => undefined
  /** Set while the reader does not take what it was given. */
  #onEnd: (() => void) | undefined
  #cursorSent = ''

  constructor(options: TailOptions) {
    this.#options = options
    this.streamId = options.streamId
    this.query = options.query
    this.#places = new Map(options.heard)
    const { limitPerS } = options
    this.#sampler = limitPerS === undefined ? undefined : new Sampler(limitPerS)
  }

  /** Up to where commits were heard of when it began. */
  get startPlaces(): NodePositions {
    return this.#options.heard
  }

  get isEnded(): boolean {
    return this.#end !== undefined
  }

  /** Whether the segment is after what had been heard of when the tail began. */
  wants({ node, segmentId }: Pick<TailSegment, 'node' | 'segmentId'>): boolean {
    const place = this.#places.get(node)
    return place === undefined || segmentId > place
  }

  /** The matches in a segment. `done`: up to where the stream's tails are otherwise. */
  push(segment: TailSegment, matches: readonly TailMatch[], done: NodePositions): void {
    this.#advance(done)
    if (matches.length > 0) {
      const places = encodePositions(this.#places, segment.segmentId)
      for (const { ordinal, record } of matches) {
        this.#pushEvent(segment, record, cursorAt(ordinal, places))
      }
      this.#wake()
    }
    this.#places.set(segment.node, segment.segmentId)
  }

  /** Skips segments with `events` events, which become a gap. */
  skip(segments: readonly TailSegment[], reason: LeftOut, events: number): void {
    let fromMs = Number.POSITIVE_INFINITY
    let toMs = 0
    for (const { node, segmentId } of segments) {
      this.#places.set(node, segmentId)
      fromMs = Math.min(fromMs, segmentIdMs(segmentId))
      toMs = Math.max(toMs, segmentIdMs(segmentId))
    }
    const cursor = encodePositions(this.#places)
    this.#queue.pushGap({ kind: 'gap', reason, events, isExact: false, fromMs, toMs, cursor })
    this.#wake()
  }

  end(reason: TailEnd): void {
    if (this.#end !== undefined) return
    this.#end = reason
    this.#onEnd?.()
    this.#wake()
  }

  /**
   * Writes until the tail ends or its reader is gone, beginning with what it missed. `heardNow` is
   * how far the tail is when nothing waits.
   */
  async run(
    writer: TailWriter,
    catchUp: ((send: (item: QueueItem) => Promise<void>) => Promise<void>) | undefined,
    heardNow: () => NodePositions,
  ): Promise<void> {
    const timer = setTimeout(() => this.end('time_is_up'), TAIL_MS_MAX)
    try {
      await this.#give(writer, BEGIN)
      await catchUp?.((item) => this.#give(writer, this.#format(item)))
      let atMs = performance.now()
      while (!writer.isOver && !this.isEnded) {
        let bytes = this.#takeBytes()
        if (bytes === undefined && performance.now() - atMs >= TAIL_PING_MS) {
          this.#advance(heardNow())
          bytes = this.#ping()
        }
        if (bytes === undefined) {
          await this.#rest(TAIL_PING_MS - (performance.now() - atMs))
        } else {
          await this.#give(writer, bytes)
          atMs = performance.now()
        }
      }
      await this.#sayEnd(writer)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Hands over what comes until the tail ends, in place of `run`. */
  async forEach(onItem: (item: QueueItem) => void): Promise<void> {
    const { observer } = this.#options
    for (;;) {
      for (let item = this.#queue.take(); item !== undefined; item = this.#queue.take()) {
        if (item.kind === 'gap') observer.onGap(item.reason, item.events)
        else observer.onEvents(1, (performance.now() - item.atMs) / 1_000)
        onItem(item)
      }
      if (this.isEnded) return
      await this.#rest(TAIL_PING_MS)
    }
  }

  #advance(done: NodePositions): void {
    for (const [node, id] of done) {
      const place = this.#places.get(node)
      if (place === undefined || id > place) this.#places.set(node, id)
    }
  }

  #pushEvent({ segmentId, atMs }: TailSegment, record: Uint8Array, cursor: string): void {
    if (this.#sampler?.passes(performance.now()) === false) {
      const ms = segmentIdMs(segmentId)
      const gap = { reason: 'sampled', events: 1, isExact: true, fromMs: ms, toMs: ms } as const
      this.#queue.pushGap({ kind: 'gap', ...gap, cursor })
    } else {
      this.#queue.push({ kind: 'event', record, cursor, segmentId, atMs })
    }
  }

  /** What waits, as it is to be sent; some of it if it is much. */
  #takeBytes(): Uint8Array | undefined {
    const pieces: Uint8Array[] = []
    let bytes = 0
    let events = 0
    let oldestAtMs = Number.POSITIVE_INFINITY
    while (bytes < TAIL_WRITE_BYTES) {
      const item = this.#queue.take()
      if (item === undefined) break
      if (item.kind === 'event') {
        events++
        oldestAtMs = Math.min(oldestAtMs, item.atMs)
      }
      const piece = this.#format(item)
      pieces.push(piece)
      bytes += piece.length
    }
    const { observer } = this.#options
    if (events > 0) observer.onEvents(events, (performance.now() - oldestAtMs) / 1_000)
    return pieces.length === 0 ? undefined : Buffer.concat(pieces)
  }

  #format(item: QueueItem): Uint8Array {
    this.#cursorSent = item.cursor
    if (item.kind === 'gap') {
      this.#options.observer.onGap(item.reason, item.events)
      const { reason, events, isExact, fromMs, toMs, cursor } = item
      const times = { from: formatTimeMs(fromMs), to: formatTimeMs(toMs + 1) }
      const data = JSON.stringify({ dropped: events, exact: isExact, reason, ...times })
      const name = reason === 'sampled' ? 'sampled' : 'gap'
      return Buffer.from(`event: ${name}\nid: ${cursor}\ndata: ${data}\n\n`)
    }
    const head = Buffer.from(`id: ${item.cursor}\ndata: `)
    return Buffer.concat([head, oneLine(item.record), END_OF_MESSAGE])
  }

  /** Moves the cursor of a reader for whom nothing came. */
  #ping(): Uint8Array {
    const cursor = encodePositions(this.#places)
    if (cursor === this.#cursorSent) return PING
    this.#cursorSent = cursor
    return Buffer.from(`: ping\nid: ${cursor}\n\n`)
  }

  /** Writes, and waits until the reader has taken it. */
  async #give(writer: TailWriter, bytes: Uint8Array): Promise<void> {
    if (writer.write(bytes)) return
    let timer: NodeJS.Timeout | undefined
    this.#onEnd = () => {
      timer = setTimeout(() => writer.drop(), END_WAIT_MS_MAX)
    }
    if (this.isEnded) this.#onEnd()
    await writer.whenTaken()
    clearTimeout(timer)
    this.#onEnd = undefined
  }

  /** Until something is there to be sent, or `msMax` have passed. */
  async #rest(msMax: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, msMax)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = () => undefined
  }

  async #sayEnd(writer: TailWriter): Promise<void> {
    if (writer.isOver) return
    // What it was to see is sent, but not to who may not see it any more.
    const mayRead = this.#end !== 'token_not_valid' && this.#end !== 'stream_deleted'
    for (let bytes = mayRead ? this.#takeBytes() : undefined; bytes !== undefined; ) {
      bytes = writer.write(bytes) ? this.#takeBytes() : undefined
    }
    if (writer.isOver) return
    const data = JSON.stringify({ reason: this.#end })
    writer.write(Buffer.from(`event: end\ndata: ${data}\n\n`))
  }
}

const BEGIN = Buffer.from(': tail\nretry: 1000\n\n')
const PING = Buffer.from(': ping\n\n')
const END_OF_MESSAGE = Buffer.from('\n\n')
const LF = 0x0a
const CR = 0x0d

/** A record with line breaks, which JSON allows between its tokens, as lines of one message. */
function oneLine(record: Uint8Array): Uint8Array {
  if (!record.includes(LF) && !record.includes(CR)) return record
  return Buffer.from(
    Buffer.from(record)
      .toString()
      .replace(/\r\n|\r|\n/g, '\ndata: '),
  )
}
