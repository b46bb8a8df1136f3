/** Counts of what keys sent and of what was refused, on their way to the store and back. */
import type { StreamId } from '../stream.ts'

/** Stands for the stream of requests that came without a valid key. */
export const NO_STREAM = 0 as StreamId
/** Stands for the key of requests that had none that is known: by agents, by strangers. */
export const NO_KEY = 0
/** Stands for all keys of a stream that there was no room to tell apart. */
export const OTHER_KEYS = -1

/** A stretch of time, in minutes since 1970. */
export interface MinuteStep {
  readonly start: number
  readonly minutes: number
}

/** Refused requests that have all of this in common. */
export interface RefusedRequests extends MinuteStep {
  readonly streamId: StreamId
  readonly keyId: number
  /** The error's code, or what says more. */
  readonly reason: string
  /** Which limit was met, or what was wrong with the key; may be empty. */
  readonly cause: string
  readonly requests: number
  /** Of the requests whose events were counted before they were refused; null: of none. */
  readonly events: number | null
  /** Of their bodies, as they came and as far as they were told. */
  readonly bytes: number
  readonly lastAtMs: number
}

/** What a key sent in a step. */
export interface KeyCounts extends MinuteStep {
  readonly streamId: StreamId
  readonly keyId: number
  readonly requests: number
  readonly events: number
  /** Of the events, as they were sent. */
  readonly bytes: number
}

/** Whose a prefix is, valid or not. */
export interface KeyOwner {
  readonly streamId: StreamId
  readonly keyId: number
  readonly isRevoked: boolean
}

const HOUR = 60
const DAY = 24 * HOUR

/** In minutes. `keptFine` and `keptCoarse`: how long ago steps may have begun. */
export const REFUSALS_KEPT = { fine: 1, keptFine: DAY, coarse: HOUR, keptCoarse: 31 * DAY }
export const KEYS_KEPT = { fine: HOUR, keptFine: 31 * DAY, coarse: DAY, keptCoarse: 400 * DAY }
export type Kept = typeof REFUSALS_KEPT

/** Keys that are told over time: those that sent most. */
export const HISTORY_KEYS_MAX = 20
