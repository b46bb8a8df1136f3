/**
 * Decodes the payloads of a task one after another. One that no longer decodes is reported, not
 * thrown: it must not fail the others.
 */

import { EventFacts } from '../facts/event-facts.ts'
import { ArenaFullError } from '../kernel/arena.ts'
import { DecodedEvents } from '../tape/decoded-events.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import { decodeStoredEvents } from './stored-events.ts'

export class PayloadDecoder {
  readonly tape: JsonTape
  /** Of the payload that was decoded last. */
  readonly events = new DecodedEvents()
  readonly facts = new EventFacts()
  bytes: Uint8Array = new Uint8Array(0)
  #payload: Uint8Array | undefined
  #damage: string | undefined

  constructor(tape: JsonTape) {
    this.tape = tape
  }

  /** Forgets the last payload: the tape has other events from here on. */
  reset(): void {
    this.#payload = undefined
  }

  /**
   * Returns the reason if the payload does not decode. Segments that share a payload come one after
   * another, so it is decoded once.
   */
  decode(payload: Uint8Array): string | undefined {
    if (payload === this.#payload) return this.#damage
    this.#payload = payload
    this.#damage = undefined
    try {
      this.bytes = decodeStoredEvents(payload, this.tape, this.events, this.facts)
    } catch (cause) {
      if (cause instanceof ArenaFullError) throw cause // Of the worker, not of the payload.
      this.#damage = cause instanceof Error ? cause.message : String(cause)
    }
    return this.#damage
  }
}
