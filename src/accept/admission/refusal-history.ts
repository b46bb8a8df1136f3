/**
 * Who was refused, why, and when: refused requests by minute, stream, key, reason and cause.
 *
 * Guarantee: a storm of refusals costs two looks into maps each. A node tells apart so many of them
 * a minute (REFUSALS_TOLD_MAX); what is past that is counted by the hour, stream and reason, which
 * are few. Strangers cannot use that up: their keys have a bound of their own (STRANGERS_TOLD_MAX).
 * Of the credential that came there is only its public prefix, and no longer than until the counts
 * are written: then it is looked up whose that is.
 */
import type { ErrorCode, IngestError } from '../../errors.ts'
import {
  type KeyOwner,
  NO_KEY,
  NO_STREAM,
  OTHER_KEYS,
  type RefusedRequests,
} from '../../model/batch/usage-counts.ts'
import { tryParseCredential } from '../../model/credential.ts'
import type { StreamId } from '../../model/stream.ts'
import { Gathered } from './gathered.ts'

/** One refused request. */
export interface Refusal {
  /** Undefined when no valid key is known. */
  readonly streamId: StreamId | undefined
  readonly keyId: number | undefined
  /** What was presented in place of a key, empty when nothing was. */
  readonly presented: string
  readonly error: IngestError
  readonly reason: string
  readonly events: number | undefined
  readonly bytes: number
}

export interface RefusalStore {
  /** Adds to what is known of the same; rejects when the store is away. */
  readonly record: (refused: readonly RefusedRequests[]) => Promise<void>
  /** Whose these prefixes of keys are, with those that were revoked. */
  readonly findOwners: (prefixes: readonly string[]) => Promise<ReadonlyMap<string, KeyOwner>>
}

interface Counter extends RefusedRequests {
  readonly prefix: string
  requests: number
  events: number | null
  bytes: number
  lastAtMs: number
}

/** Refusals of a minute that are told apart by key, reason and cause… */
export const REFUSALS_TOLD_MAX = 500
/** …and keys of strangers, by their prefix. */
export const STRANGERS_TOLD_MAX = 100
const FLUSH_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MINUTES = 60

export class RefusalHistory {
  readonly #nowMs: () => number
  readonly #counters: Gathered<string, Counter>
  #minute = 0
  /** What was told apart in this minute: of streams, and of strangers. */
  #told = new Set<string>()
  #strangers = new Set<string>()

  constructor(store: RefusalStore, nowMs: () => number) {
    this.#nowMs = nowMs
    const record = async (counters: readonly Counter[]) => {
      await store.record(await withOwners(counters, store.findOwners))
    }
    this.#counters = new Gathered({ record, merge, flushMs: () => FLUSH_MS })
  }

  add({ streamId, keyId, presented, error, reason, events, bytes }: Refusal): void {
    const lastAtMs = this.#nowMs()
    const start = Math.floor(lastAtMs / MINUTE_MS)
    if (start !== this.#minute) this.#begin(start)
    const minute = { start, minutes: 1 }
    const hour = { start: start - (start % HOUR_MINUTES), minutes: HOUR_MINUTES }
    const counts = { requests: 1, events: events ?? null, bytes, lastAtMs }
    if (streamId === undefined) {
      const { prefix, cause } = this.#strangerOf(presented, error)
      const who = { streamId: NO_STREAM, keyId: NO_KEY, prefix, reason, cause }
      const step = this.#isFull ? hour : minute
      const key = `${step.start} ${prefix} ${reason} ${cause}`
      return this.#count(key, { ...who, ...step, ...counts })
    }
    const who = { streamId, keyId: keyId ?? NO_KEY, prefix: '', reason, cause: causeOf(error) }
    const key = `${start} ${streamId} ${who.keyId} ${reason} ${who.cause}`
    if (isTold(this.#told, key, this.#isFull ? 0 : REFUSALS_TOLD_MAX)) {
      return this.#count(key, { ...who, ...minute, ...counts })
    }
    const other = { streamId, keyId: OTHER_KEYS, prefix: '', reason, cause: '' }
    this.#count(`${streamId} ${reason}`, { ...other, ...hour, ...counts })
  }

  flush(): Promise<void> {
    return this.#counters.flush()
  }

  /** Writes the last counts. */
  stop(): Promise<void> {
    return this.#counters.stop()
  }

  /** The store is away: what waits is bounded, however long that takes. */
  get #isFull(): boolean {
    return this.#counters.size >= 2 * (REFUSALS_TOLD_MAX + STRANGERS_TOLD_MAX)
  }

  #begin(minute: number): void {
    this.#minute = minute
    this.#told = new Set()
    this.#strangers = new Set()
  }

  /** Who may have sent what came without a key that is known to be valid. */
  #strangerOf(presented: string, error: IngestError): Pick<Counter, 'prefix' | 'cause'> {
    const credential = tryParseCredential(presented)
    const limit = causeOf(error)
    if (credential?.kind === 'key') {
      const { prefix } = credential
      const bound = this.#isFull ? 0 : STRANGERS_TOLD_MAX
      return { prefix: isTold(this.#strangers, prefix, bound) ? prefix : '', cause: limit }
    }
    if (limit !== '') return { prefix: '', cause: limit }
    if (credential !== undefined) return { prefix: '', cause: 'access_token' }
    return { prefix: '', cause: presented === '' ? 'no_key' : 'not_a_key' }
  }

  #count(key: string, counter: Counter): void {
    const known = this.#counters.get(key)
    if (known === undefined) this.#counters.set(key, counter)
    else merge(known, counter)
  }
}

function merge(into: Counter, more: Counter): void {
  into.requests += more.requests
  into.bytes += more.bytes
  if (more.events !== null) into.events = (into.events ?? 0) + more.events
  into.lastAtMs = Math.max(into.lastAtMs, more.lastAtMs)
}

const LIMITED: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'storage_cap_reached',
  'overloaded',
  'too_large',
  'too_slow',
  'unavailable',
])
const LIMIT_NAME =
  /\b(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|rate_budget|byte_budget|max_stored_bytes)\b|--[a-z][a-z-]+/

/** The limit that was met. Our messages name it; those of these codes have no words of others. */
export function causeOf({ code, message }: IngestError): string {
  return LIMITED.has(code) ? (LIMIT_NAME.exec(message)?.[0] ?? '') : ''
}

/** Whether it is among those that are told apart, or still may be. */
function isTold(told: Set<string>, key: string, max: number): boolean {
  if (told.has(key)) return true
  if (told.size >= max) return false
  told.add(key)
  return true
}

/** The same with the streams of the keys that were presented, as far as there are such keys. */
async function withOwners(
  counters: readonly Counter[],
  findOwners: RefusalStore['findOwners'],
): Promise<readonly RefusedRequests[]> {
  const prefixes = new Set(counters.map(({ prefix }) => prefix).filter((prefix) => prefix !== ''))
  const owners = prefixes.size === 0 ? new Map() : await findOwners([...prefixes])
  return counters.map(({ prefix, ...counted }) => {
    if (prefix === '') return counted
    const isWrong = counted.reason === 'unauthenticated'
    const owner: KeyOwner | undefined = owners.get(prefix)
    if (owner === undefined) return isWrong ? { ...counted, cause: 'unknown_key' } : counted
    const { streamId, keyId, isRevoked } = owner
    const cause = isWrong ? (isRevoked ? 'revoked_key' : 'wrong_secret') : counted.cause
    return { ...counted, streamId, keyId, cause }
  })
}
