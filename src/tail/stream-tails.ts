/**
 * The tails of one stream, and its committed segments that have not been handed to them yet: those
 * that are to be matched, or are being. Segments of a node leave in the order in which they came.
 */
import type { SegmentId } from '../model/segment-id.ts'
import type { Stream } from '../model/stream.ts'
import type { HeardSegment } from './commit-source.ts'
import { QuerySets } from './query-sets.ts'
import type { Tail } from './tail.ts'
import type { Places } from './tail-cursor.ts'

export class StreamTails {
  readonly tails = new Set<Tail>()
  #textFields: readonly string[]
  readonly #sets: QuerySets
  #waiting: HeardSegment[] = []
  /** Taken and not finished. */
  #underWay: readonly HeardSegment[] = []
  waitingBytes = 0
  waitingEvents = 0
  /** Up to where the tails are; undefined when everything that was heard of is done. */
  #done: Map<number, SegmentId> | undefined

  constructor({ streamId, textFields }: Pick<Stream, 'streamId' | 'textFields'>) {
    this.#textFields = textFields
    this.#sets = new QuerySets(streamId)
  }

  /** The stream's setting. */
  get textFields(): readonly string[] {
    return this.#textFields
  }

  set textFields(textFields: readonly string[]) {
    if (JSON.stringify(textFields) === JSON.stringify(this.#textFields)) return
    this.#textFields = textFields
    this.#sets.changed()
  }

  /** Some may wait for one that is under way. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** When the oldest one that waits was heard of. */
  get oldestAtMs(): number {
    return this.#waiting[0]?.atMs ?? Number.POSITIVE_INFINITY
  }

  addTail(tail: Tail): void {
    this.tails.add(tail)
    this.#sets.changed()
  }

  removeTail(tail: Tail): void {
    this.tails.delete(tail)
    this.#sets.changed()
  }

  /** What ingest is to look for in the stream's events. */
  watched(nowMs: number): ReturnType<QuerySets['watched']> {
    return this.#sets.watched(() => this.#queries(), this.#textFields, nowMs)
  }

  findSieved(sieved: Parameters<QuerySets['find']>[0]): ReturnType<QuerySets['find']> {
    return this.#sets.find(sieved, () => this.#queries())
  }

  /** `heard`: up to where commits were heard of before this one. */
  add(segment: HeardSegment, heard: Places): void {
    this.#done ??= new Map(heard)
    this.#waiting.push(segment)
    this.waitingBytes += segment.payload?.length ?? 0
    this.waitingEvents += segment.eventCount
  }

  /** The oldest ones, of `eventsMax` events or a single one of more. To be finished. */
  take(eventsMax: number): readonly HeardSegment[] {
    let count = 0
    let events = 0
    for (const { eventCount } of this.#waiting) {
      if (count > 0 && events + eventCount > eventsMax) break
      events += eventCount
      count++
    }
    const segments = this.#waiting.splice(0, count)
    for (const segment of segments) this.#forget(segment)
    this.#underWay = segments
    return segments
  }

  /** Those that need not be matched, unless one of their node that must be is before them. */
  takeSieved(): readonly HeardSegment[] {
    const isBehind = new Set(this.#underWay.map(({ node }) => node))
    const taken: HeardSegment[] = []
    this.#waiting = this.#waiting.filter((segment) => {
      const { node, sieved } = segment
      if (sieved === undefined) isBehind.add(node)
      if (isBehind.has(node)) return true
      taken.push(segment)
      this.#forget(segment)
      return false
    })
    return taken
  }

  /** One is done. */
  passed({ node, segmentId }: HeardSegment): void {
    this.#done?.set(node, segmentId)
  }

  /** What was taken is done: by `take`, or else by `takeSieved`. */
  finish(segments: readonly HeardSegment[], heard: Places): void {
    for (const segment of segments) this.passed(segment)
    if (segments === this.#underWay) this.#underWay = []
    const left = [...this.#underWay, ...this.#waiting]
    if (left.length === 0) {
      this.#done = undefined
      return
    }
    const behind = new Set(left.map(({ node }) => node))
    for (const [node, id] of heard) if (!behind.has(node)) this.#done?.set(node, id)
  }

  /** Up to where its tails are done, when `heard` is up to where commits were heard of. */
  places(heard: Places): Places {
    return this.#done ?? heard
  }

  *#queries(): Iterable<string> {
    for (const { query } of this.tails) yield query
  }

  #forget({ payload, eventCount }: HeardSegment): void {
    this.waitingBytes -= payload?.length ?? 0
    this.waitingEvents -= eventCount
  }
}
