/**
 * Splitting's work: sorts the events of mixed segments into segments of one stream each. A payload
 * is decompressed once; its events are parsed with those that they will be stored with, so the tape
 * holds one segment at a time, however much is sorted.
 */
import assert from 'node:assert/strict'
import type { SplitResult, SplitTask } from '../src/pool/messages.ts'
import { CompactPipeline } from './compact.ts'
import { decodeSegment, type SegmentContent } from './segment/segment.ts'

const LINE_FEED = 0x0a
const PIECE_NUMBERS = 3

/** A mixed segment, and where each of its events begins and the last one ends. */
interface MixedContent extends SegmentContent {
  readonly offsets: readonly number[]
}

export class SplitPipeline {
  readonly #compact: CompactPipeline

  constructor(compact = new CompactPipeline()) {
    this.#compact = compact
  }

  /** Throws when a payload is damaged or has fewer events than are asked for. */
  run(task: Pick<SplitTask, 'payloads' | 'pieces' | 'pieceCounts'>): Omit<SplitResult, 'kind'> {
    const { pieces, pieceCounts } = task
    const mixed = task.payloads.map(decodeMixed)
    const ends = new Uint32Array(pieceCounts.length)
    const eventCounts = new Uint32Array(pieceCounts.length)
    const rawBytes = new Uint32Array(pieceCounts.length)
    const payloads: Uint8Array[] = []
    let at = 0
    let end = 0
    for (const [index, count] of pieceCounts.entries()) {
      const contents: SegmentContent[] = []
      for (let piece = 0; piece < count; piece++, at += PIECE_NUMBERS) {
        const [payload = 0, first = 0, events = 0] = pieces.subarray(at, at + PIECE_NUMBERS)
        const content = mixed[payload]
        assert(content !== undefined)
        contents.push(sliceContent(content, first, events))
      }
      const merged = this.#compact.merge(contents)
      payloads.push(merged.payload)
      end += merged.payload.length
      ends[index] = end
      eventCounts[index] = merged.eventCount
      rawBytes[index] = merged.rawBytes
    }
    assert.equal(at, pieces.length)
    return { bytes: joined(payloads, end), ends, eventCounts, rawBytes }
  }
}

function decodeMixed(payload: Uint8Array): MixedContent {
  const content = decodeSegment(payload)
  const offsets = [0]
  for (let at = 0; at < content.text.length; ) {
    const feed = content.text.indexOf(LINE_FEED, at)
    assert(feed >= 0, 'the last event is cut short')
    at = feed + 1
    offsets.push(at)
  }
  return { ...content, offsets }
}

function sliceContent(content: MixedContent, first: number, count: number): SegmentContent {
  const start = content.offsets[first]
  const end = content.offsets[first + count]
  assert(start !== undefined && end !== undefined, 'the payload has fewer events')
  return {
    text: content.text.subarray(start, end),
    times: sliceMap(content.times, first, count),
    labels: sliceMap(content.labels, first, count),
  }
}

/** What is known of the `count` events from `first` on, by their ordinals from there. */
function sliceMap<T>(all: ReadonlyMap<number, T>, first: number, count: number): Map<number, T> {
  const some = new Map<number, T>()
  if (all.size === 0) return some
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const one = all.get(first + ordinal)
    if (one !== undefined) some.set(ordinal, one)
  }
  return some
}

/** In memory of its own: `Buffer.concat` may take it from a pool that cannot change hands. */
function joined(payloads: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const payload of payloads) {
    bytes.set(payload, at)
    at += payload.length
  }
  return bytes
}
