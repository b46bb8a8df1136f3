/** What benches of the stages behind the tape start from: a batch, and what decode makes of it. */
import { DecodedEvents } from '../../workers/decode/decoded-events.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/decode/json-tape.ts'
import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { PathTrie } from '../../workers/decode/path-trie.ts'
import type { BenchBatch } from '../bench.ts'

/** The body with the line feed and the zero bytes behind it that the tape relies on. */
export function padBody(body: Buffer): Buffer {
  const padding = Buffer.alloc(1 + TAPE_PADDING)
  padding[0] = 0x0a
  return Buffer.concat([body, padding])
}

export class TapeBatch {
  readonly bytes: Buffer
  readonly tape = new JsonTape(new PathTrie())
  readonly events = new DecodedEvents()
  readonly #end: number

  constructor({ body }: BenchBatch) {
    this.bytes = padBody(body)
    this.#end = body.length
    this.decode()
  }

  /** Judges the whole batch again; returns the number of events. */
  decode(): number {
    const outcome = new PartOutcome()
    this.events.reset()
    this.tape.begin(this.bytes)
    decodeNdjson(this.tape, this.events, this.bytes, { start: 0, end: this.#end }, outcome)
    if (outcome.rejected > 0) throw new Error(`the tape rejected ${outcome.rejected} events`)
    return outcome.accepted
  }
}
