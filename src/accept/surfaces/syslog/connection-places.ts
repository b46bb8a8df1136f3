/**
 * Which connections of syslog there are, of all listeners together. There are so many, and so many
 * from one address; where there are too many, the one that was silent for longest gives its place,
 * when it was silent for long enough. Nobody is closed for silence alone: a sender may have nothing
 * to say for a day, and would lose the message with which it finds its connection closed.
 */
import {
  SYSLOG_ADDRESS_CONNECTIONS_MAX,
  SYSLOG_CONNECTIONS_MAX,
  SYSLOG_HALVES_BYTES_MAX,
  SYSLOG_IDLE_MS_MAX,
} from '../../../limits.ts'

/** A connection as far as it takes a place. */
export interface Place {
  readonly address: string
  /** When something came last, on the monotonic clock. */
  readonly heardAtMs: number
  readonly close: () => void
}

export type NoPlace = 'connections' | 'address_connections'

export class ConnectionPlaces {
  readonly #nowMs: () => number
  readonly #places = new Set<Place>()
  readonly #byAddress = new Map<string, number>()
  #halvesBytes = 0

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#places.size
  }

  /** Undefined when there is a place; else why there is none. */
  tryTake(place: Place): NoPlace | undefined {
    const ofAddress = this.#byAddress.get(place.address) ?? 0
    if (ofAddress >= SYSLOG_ADDRESS_CONNECTIONS_MAX && !this.#makeRoom(place.address)) {
      return 'address_connections'
    }
    if (this.#places.size >= SYSLOG_CONNECTIONS_MAX && !this.#makeRoom()) return 'connections'
    this.#places.add(place)
    this.#byAddress.set(place.address, (this.#byAddress.get(place.address) ?? 0) + 1)
    return undefined
  }

  leave(place: Place): void {
    if (!this.#places.delete(place)) return
    const left = (this.#byAddress.get(place.address) ?? 0) - 1
    if (left > 0) this.#byAddress.set(place.address, left)
    else this.#byAddress.delete(place.address)
  }

  /** Halves of messages are so much larger. False when there is no room for that. */
  tryGrowHalves(bytes: number): boolean {
    if (bytes > 0 && this.#halvesBytes + bytes > SYSLOG_HALVES_BYTES_MAX) return false
    this.#halvesBytes += bytes
    return true
  }

  /** Closes the one that was silent for longest, if that is long. */
  #makeRoom(address?: string): boolean {
    let oldest: Place | undefined
    for (const place of this.#places) {
      if (address !== undefined && place.address !== address) continue
      if (oldest === undefined || place.heardAtMs < oldest.heardAtMs) oldest = place
    }
    if (oldest === undefined || this.#nowMs() - oldest.heardAtMs < SYSLOG_IDLE_MS_MAX) return false
    this.leave(oldest)
    oldest.close()
    return true
  }
}
