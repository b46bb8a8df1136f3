/**
 * Builds the Native block of a stored segment again, through the same transforms and encoders as
 * ingest: after a crash the projection is completed from what was committed. Pure, like ingest.
 */
import assert from 'node:assert/strict'
import { MIXED_STREAM } from '../src/model/mixed-runs.ts'
import type { ReplayedSegment } from '../src/pool/messages.ts'
import { DecodedEvents } from './decode/decoded-events.ts'
import { JsonTape } from './decode/json-tape.ts'
import { PathTrie } from './decode/path-trie.ts'
import { decodeStoredEvents } from './decode/stored-events.ts'
import { NativeBlockEncoder } from './encode/native-block.ts'
import { tapeSource } from './encode/native-json.ts'
import { SchemaDeltaEncoder } from './encode/schema-delta.ts'
import { EventFacts } from './transform/event-facts.ts'

export class ReplayPipeline {
  readonly #tape: JsonTape
  readonly #events = new DecodedEvents()
  readonly #facts = new EventFacts()
  readonly #blocks = new NativeBlockEncoder()
  readonly #deltas = new SchemaDeltaEncoder()

  constructor(tape = new JsonTape(new PathTrie())) {
    this.#tape = tape
  }

  /**
   * Of `MIXED_STREAM` the block is for the shared table. `part`: only these events, of segments
   * with `counts` events each. Throws when the payload is damaged: a committed segment decodes.
   */
  run(
    payload: Uint8Array,
    streamId: number,
    part?: { readonly first: number; readonly counts: readonly number[] },
  ): ReplayedSegment {
    const tape = this.#tape
    const bytes = decodeStoredEvents(payload, tape, this.#events, this.#facts)
    const counts = part?.counts ?? [this.#events.count]
    const first = part?.first ?? 0
    const range = { first, count: counts.reduce((sum, count) => sum + count, 0) }
    assert(range.count > 0 && first + range.count <= this.#events.count)
    const source = tapeSource(bytes, tape)
    let next = first
    const ranges = counts.map((count) => {
      next += count
      return { first: next - count, count }
    })
    const [blocks, events, facts] = [this.#blocks, this.#events, this.#facts]
    const encoded =
      streamId === MIXED_STREAM
        ? blocks.encodeShared(source, events, facts, range, counts)
        : blocks.encode(source, events, facts, range, undefined, counts)
    return {
      eventCount: range.count,
      ...encoded,
      deltas: ranges.map((each) => {
        const origin = { streamId, receivedAtMs: undefined }
        return this.#deltas.encode(source, this.#events, this.#facts, each, origin)
      }),
    }
  }
}
