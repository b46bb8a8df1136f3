/**
 * Segment ids: 63-bit integers that sort by time, made without any shared sequence.
 *
 *   | 42 bits milliseconds since 1970 | 9 bits node | 12 bits counter |
 *
 * 42 bits of milliseconds last until 2109. Monotonic on a node, even if the clock steps back: the
 * generator then keeps counting from the last millisecond it used.
 */
import assert from 'node:assert/strict'

export type SegmentId = bigint & { readonly __brand: 'SegmentId' }

const NODE_BITS = 9
const COUNTER_BITS = 12
/** Bits of an id below its milliseconds. */
export const SEGMENT_ID_MS_SHIFT = NODE_BITS + COUNTER_BITS
export const NODE_ID_MAX = (1 << NODE_BITS) - 1
/** The greatest counter of a node's millisecond. */
export const SEGMENT_COUNTER_MAX = (1 << COUNTER_BITS) - 1
/** The last millisecond that an id can hold, in 2109. */
export const SEGMENT_MS_MAX = 2 ** 42 - 1
export const SEGMENT_ID_MAX = (1n << 63n) - 1n

/** Builds an id from its parts; each must be within its bits. */
export function makeSegmentId(parts: { ms: number; node: number; counter: number }): SegmentId {
  const { ms, node, counter } = parts
  assert(ms >= 0 && ms <= SEGMENT_MS_MAX && node >= 0 && node <= NODE_ID_MAX)
  assert(counter >= 0 && counter <= SEGMENT_COUNTER_MAX)
  const low = BigInt(node * (SEGMENT_COUNTER_MAX + 1) + counter)
  return ((BigInt(ms) << BigInt(SEGMENT_ID_MS_SHIFT)) | low) as SegmentId
}

/**
 * No segment received before `ms` has this id or a higher one. Zero for times before 1970; past
 * SEGMENT_MS_MAX higher than any id.
 */
export function segmentIdAt(ms: number): SegmentId {
  return (BigInt(Math.max(0, Math.floor(ms))) << BigInt(SEGMENT_ID_MS_SHIFT)) as SegmentId
}

/** The receipt time of the segment's events, in milliseconds since 1970. */
export function segmentIdMs(id: SegmentId): number {
  return Number(id >> BigInt(SEGMENT_ID_MS_SHIFT))
}

export function segmentIdNode(id: SegmentId): number {
  return Number(id >> BigInt(COUNTER_BITS)) & NODE_ID_MAX
}

/**
 * SQL for the node in an id. PostgreSQL uses the index `segments_by_node` only for an expression
 * that is written just as in the index.
 */
export function nodeOfSegment(column: string): string {
  return `((${column} >> ${COUNTER_BITS}) & ${NODE_ID_MAX})`
}

/** The same for ClickHouse. */
export function nodeOfSegmentSql(column: string): string {
  return `bitAnd(bitShiftRight(${column}, ${COUNTER_BITS}), ${NODE_ID_MAX})`
}

/** The decimal text of an id, or undefined when it is not one. */
export function tryParseSegmentId(text: string): SegmentId | undefined {
  if (!/^(0|[1-9][0-9]{0,18})$/.test(text)) return undefined
  const id = BigInt(text)
  return id <= SEGMENT_ID_MAX ? (id as SegmentId) : undefined
}

/** Makes ids for one node. `nowMs` is the wall clock. */
export class SegmentIdGenerator {
  readonly #node: number
  readonly #nowMs: () => number
  readonly #latestMs: () => number
  #ms = 0
  #counter = 0

  /**
   * `after`: ids continue above this one (the newest that the node ever committed). `latestMs`: a
   * wall clock beyond it is considered wrong.
   */
  constructor(
    node: number,
    nowMs: () => number,
    after?: SegmentId,
    latestMs: () => number = () => Number.POSITIVE_INFINITY,
  ) {
    this.#node = node
    this.#nowMs = nowMs
    this.#latestMs = latestMs
    if (after !== undefined) {
      this.#ms = segmentIdMs(after)
      this.#counter = Number(after & BigInt(SEGMENT_COUNTER_MAX))
    }
  }

  /** The receipt time of the newest id, or what `moveTo` moved to; 0 before the first. */
  get lastMs(): number {
    return this.#ms
  }

  /** The next id would be in the future, so nothing may be committed under it. */
  get isAhead(): boolean {
    return Math.max(this.#nowMs(), this.#ms) > this.#latestMs()
  }

  /** From now on no id is of a time before `ms`. */
  moveTo(ms: number): void {
    if (ms <= this.#ms) return
    this.#ms = ms
    this.#counter = -1 // The next id has the first one.
  }

  next(): SegmentId {
    // The clock may have stepped since `isAhead` was checked.
    const now = Math.floor(Math.min(this.#nowMs(), this.#latestMs()))
    if (now > this.#ms) {
      this.#ms = now
      this.#counter = 0
    } else if (this.#counter === SEGMENT_COUNTER_MAX) {
      this.#ms++ // Borrows from the future rather than wait: 4096 segments in one millisecond.
      this.#counter = 0
    } else {
      this.#counter++
    }
    return makeSegmentId({ ms: this.#ms, node: this.#node, counter: this.#counter })
  }
}
