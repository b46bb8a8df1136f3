/**
 * How much parsing of user agents that are not remembered a stream may cause. A client that sends
 * nothing but new strings, made to be slow, must not keep a worker from everybody else's batches.
 *
 * One bucket per stream and worker, refilled by the batches' own time; its size is also what one
 * batch can spend. A string is charged for its length squared, because the time of the worst ones
 * grows that way: a hostile one of 500 bytes costs 16, a usual one 1.
 */
import { LRUCache } from 'lru-cache'

/**
 * Parsing of strings that are not remembered, of a stream in one batch, and what it gets back each
 * second; strings beyond it stay without their sibling. Up to 128 bytes cost 1, more as their
 * length squared (500 bytes: 16). A full batch of lines that all have another usual string fits; of
 * the slowest strings known, a second's worth is a tenth of a second.
 */
export const USER_AGENT_COST_MAX = 4_096
export const USER_AGENT_COST_PER_SECOND = 1_024
/** Streams for which a worker remembers it; past it those longest unused start anew. */
export const USER_AGENT_BUDGET_STREAMS_MAX = 4_096

/** Up to here a string costs 1. */
const UNIT_BYTES = 128

interface Bucket {
  left: number
  atMs: number
}

export class UserAgentBudget {
  /** A stream that is not in it has a full bucket. */
  readonly #buckets = new LRUCache<number, Bucket>({ max: USER_AGENT_BUDGET_STREAMS_MAX })
  #bucket: Bucket = { left: USER_AGENT_COST_MAX, atMs: 0 }

  /** Starts a batch of a stream. */
  begin(streamId: number, nowMs: number): void {
    const known = this.#buckets.get(streamId)
    if (known === undefined) {
      this.#bucket = { left: USER_AGENT_COST_MAX, atMs: nowMs }
      this.#buckets.set(streamId, this.#bucket)
      return
    }
    const refill = (Math.max(0, nowMs - known.atMs) * USER_AGENT_COST_PER_SECOND) / 1_000
    known.left = Math.min(USER_AGENT_COST_MAX, known.left + refill)
    known.atMs = nowMs
    this.#bucket = known
  }

  /** Whether a string of this many bytes may be parsed; charges for it if so. */
  tryTake(bytes: number): boolean {
    const cost = userAgentCost(bytes)
    if (this.#bucket.left < cost) return false
    this.#bucket.left -= cost
    return true
  }
}

export function userAgentCost(bytes: number): number {
  const units = bytes / UNIT_BYTES
  return Math.max(1, Math.ceil(units * units))
}
