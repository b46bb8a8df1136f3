/** What benches of the stages behind the tape start from: a batch, and what decode makes of it. */

import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { EventBuffer } from '../../workers/tape/event-buffer.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import type { BenchBatch } from '../bench.ts'

/** The body with the line feed and the zero bytes behind it that the tape relies on. */
export function padBody(body: Buffer): Buffer {
  const padding = Buffer.alloc(1 + TAPE_PADDING)
  padding[0] = 0x0a
  return Buffer.concat([body, padding])
}

export class TapeBatch {
  /** As they lie in the arena. */
  bytes: Buffer = Buffer.alloc(0)
  readonly buffer = new EventBuffer()
  readonly tape = new JsonTape(new PathTrie())
  readonly events = new DecodedEvents()
  readonly #body: Buffer
  readonly #padded: Buffer

  constructor({ body }: BenchBatch) {
    this.#body = body
    this.#padded = padBody(body)
    this.decode()
  }

  /** Judges the whole batch again; returns the number of events. */
  decode(): number {
    const outcome = new PartOutcome()
    this.events.reset()
    this.bytes = this.buffer.hold(this.#padded)
    this.tape.begin(this.bytes)
    decodeNdjson(this.tape, this.events, this.bytes, { start: 0, end: this.#body.length }, outcome)
    if (outcome.rejected > 0) throw new Error(`the tape rejected ${outcome.rejected} events`)
    return outcome.accepted
  }
}
