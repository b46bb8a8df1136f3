/**
 * Compaction's work: the events of several stored segments, in order, as one payload. Pure, and
 * built from ingest's decoder and encoder, so a merged payload is an ordinary segment: the events'
 * text byte for byte, and the times that are stored beside it.
 */
import assert from 'node:assert/strict'
import { NativeBlockEncoder, textLength } from './block/native-block.ts'
import { tapeSource } from './block/native-json.ts'
import { EventFacts } from './facts/event-facts.ts'
import { decodeSegment, type SegmentContent, SegmentEncoder } from './segment/segment.ts'
import { decodeContents } from './segment/stored-events.ts'
import { DecodedEvents } from './tape/decoded-events.ts'
import { JsonTape } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'

export interface CompactedSegment {
  readonly eventCount: number
  readonly rawBytes: number
  readonly payload: Uint8Array
}

export class CompactPipeline {
  readonly #tape: JsonTape
  readonly #events = new DecodedEvents()
  readonly #facts = new EventFacts()
  readonly #blocks = new NativeBlockEncoder()
  readonly #segments = new SegmentEncoder()

  constructor(tape = new JsonTape(new PathTrie())) {
    this.#tape = tape
  }

  /** Throws when a payload is damaged. */
  run(payloads: readonly Uint8Array[]): CompactedSegment {
    return this.merge(payloads.map(decodeSegment))
  }

  /** The same for segments that are decoded already, or parts of them. */
  merge(contents: readonly SegmentContent[]): CompactedSegment {
    const events = this.#events
    const facts = this.#facts
    const bytes = decodeContents(contents, this.#tape, events, facts)
    const range = { first: 0, count: events.count }
    assert(range.count > 0)
    const source = tapeSource(bytes, this.#tape)
    const index = this.#blocks.index(source, events, facts, range)
    const payload = this.#segments.encode(source, index, events, facts, range)
    return { eventCount: range.count, rawBytes: textLength(events, range), payload }
  }
}
