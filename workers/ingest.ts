/**
 * What a worker does with a batch: decode → transform → encode. Pure: bytes and settings in, bytes
 * out; no I/O, no clock, no randomness. State kept between batches only makes the next one faster;
 * budgets of optional work (descriptions of shapes, user agents) use the batches' receipt times.
 */
import assert from 'node:assert/strict'
import { SEGMENT_EVENTS_MAX } from '../src/limits.ts'
import type { AcceptedBatch, BatchOwner, SegmentOutput } from '../src/model/batch/accepted-batch.ts'
import type { EncodedBatch, EncodedSegment } from '../src/model/batch/encoded-batch.ts'
import type { SievedEvents, WatchedQueries } from '../src/model/batch/sieved-events.ts'
import type { StreamId } from '../src/model/stream.ts'
import { type EventRange, NativeBlockEncoder, textLength } from './block/native-block.ts'
import { tapeSource } from './block/native-json.ts'
import { DECODERS } from './decode/all-decoders.ts'
import type { DecodePart, Decoder } from './decode/decoder.ts'
import type { PartOutcome } from './decode/part-outcome.ts'
import { isCleanUtf8, type RepairedParts, repairParts } from './decode/utf8.ts'
import { EventFacts } from './facts/event-facts.ts'
import { type DeltaOrigin, SchemaDeltaEncoder } from './schema/schema-delta.ts'
import { SegmentEncoder } from './segment/segment.ts'
import { TailMatcher } from './tail-matcher.ts'
import { DecodedEvents } from './tape/decoded-events.ts'
import { EventBuffer } from './tape/event-buffer.ts'
import { JsonTape } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'
import { Transforms } from './transform/plan.ts'

type Encoded = Omit<EncodedSegment, 'sentBytes'>

/** A decoder of this worker. */
interface OpenedDecoder extends Decoder {
  readonly decode: DecodePart
}

/** Events of one stream in a mixed batch. */
interface EventRun extends EventRange {
  readonly streamId: StreamId
  readonly sentBytes: number
}

export class IngestPipeline {
  readonly #tape: JsonTape
  readonly #events = new DecodedEvents()
  readonly #eventBytes = new EventBuffer()
  readonly #decoders: ReadonlyMap<string, Decoder>
  /** Those that were used, by framing. */
  readonly #opened = new Map<string, OpenedDecoder>()
  readonly #transforms = new Transforms()
  readonly #facts = new EventFacts()
  readonly #blocks = new NativeBlockEncoder()
  readonly #segments = new SegmentEncoder()
  readonly #deltas = new SchemaDeltaEncoder()
  readonly #sieve = new TailMatcher()

  constructor(tape = new JsonTape(new PathTrie()), decoders = DECODERS) {
    this.#tape = tape
    this.#decoders = decoders
  }

  /** Judges and encodes a batch. A single segment goes to `output` where it fits. */
  run(
    batch: AcceptedBatch,
    output?: SegmentOutput,
    watched: readonly WatchedQueries[] = [],
  ): EncodedBatch {
    const outcomes = this.#decode(batch, output)
    // Of several owners none parses user agents: only that is counted by stream.
    const origin = { ...batch, streamId: batch.owners?.[0]?.streamId ?? batch.streamId }
    const transformed = this.#transforms.run(this.#tape, this.#events, this.#eventBytes, origin)
    const { bytes, ...counts } = transformed
    this.#facts.describe(this.#tape, bytes, this.#events)
    const all = { first: 0, count: this.#events.count }
    const { textFields } = batch.settings
    this.#facts.patterns.describe(this.#tape, bytes, this.#events, this.#facts, all, textFields)
    const { streamId, owners } = batch
    const segments =
      owners === undefined
        ? shareSentBytes(this.#encode(bytes, batch, output), outcomes)
        : this.#encodeMixed(bytes, batch, runsOf(owners, outcomes), output)
    return {
      streamId,
      segments: watched.length === 0 ? segments : this.#sieveAll(bytes, segments, batch, watched),
      parts: outcomes.map((outcome) => outcome.toResult()),
      transforms: counts,
    }
  }

  /** Leaves the events in `#eventBytes`. */
  #decode(batch: AcceptedBatch, output?: SegmentOutput): PartOutcome[] {
    const decoders = batch.parts.map(({ framing }) => this.#decoderOf(framing))
    const kind = decoders[0]?.input ?? 'json'
    assert(
      decoders.every(({ input }) => input === kind),
      'parts of one input',
    )
    // What is binary is not text; its decoders repair strings one by one.
    const isClean = kind === 'binary' || isCleanUtf8(batch.bytes)
    const input = isClean ? batch : this.#repair(batch)
    this.#events.reset()
    const bytes = this.#begin(input.bytes, kind === 'json')
    const starts = ownerStarts(batch.owners ?? [])
    const items = input.parts.length === 1 ? output?.items : undefined
    const { settings, receivedAtMs } = batch
    const context = { settings, receivedAtMs, items }
    const outcomes = input.parts.map((part, index) => {
      if (starts.has(index)) this.#events.streamStart = this.#events.count
      return decoders[index]!.decode(bytes, part, context)
    })
    if (!isClean) {
      const { repaired } = input as RepairedParts
      for (const [i, count] of repaired.entries()) outcomes[i]!.repaired = count
    }
    return outcomes
  }

  /** Starts a batch; returns its bytes where kernels can read them, once for all parts. */
  #begin(given: Uint8Array, isJson: boolean): Uint8Array {
    // JSON stays what it is.
    if (isJson) return this.#tape.begin(this.#eventBytes.hold(given))
    // Events of other kinds are generated.
    this.#eventBytes.reset()
    this.#tape.begin(this.#eventBytes.bytes)
    return this.#tape.batch.hold(given)
  }

  #repair({ bytes, parts }: AcceptedBatch): RepairedParts {
    return repairParts(bytes, parts, ({ framing }) => this.#decoderOf(framing).isByLine === true)
  }

  #decoderOf(framing: string): OpenedDecoder {
    const opened = this.#opened.get(framing)
    if (opened !== undefined) return opened
    const decoder = this.#decoders.get(framing)
    assert(decoder !== undefined, `no decoder for ${framing}`)
    const target = { tape: this.#tape, events: this.#events, generated: this.#eventBytes }
    const fresh = { ...decoder, decode: decoder.create(target) }
    this.#opened.set(framing, fresh)
    return fresh
  }

  #encode(bytes: Uint8Array, origin: DeltaOrigin, output?: SegmentOutput): Encoded[] {
    const { count } = this.#events
    const segments: Encoded[] = []
    for (let first = 0; first < count; first += SEGMENT_EVENTS_MAX) {
      const range = { first, count: Math.min(SEGMENT_EVENTS_MAX, count - first) }
      const into = count <= SEGMENT_EVENTS_MAX ? output : undefined
      segments.push(this.#encodeRange(bytes, range, origin, into))
    }
    return segments
  }

  /** One segment of all runs, or several if it would have too many events. */
  #encodeMixed(
    bytes: Uint8Array,
    { receivedAtMs }: Pick<AcceptedBatch, 'receivedAtMs'>,
    runs: readonly EventRun[],
    output?: SegmentOutput,
  ): EncodedSegment[] {
    const [firstRun] = runs
    if (firstRun === undefined) return []
    const range = { first: firstRun.first, count: sumOf(runs, 'count') }
    if (range.count > SEGMENT_EVENTS_MAX && runs.length > 1) {
      const half = runs.length >> 1
      return [runs.slice(0, half), runs.slice(half)].flatMap((some) => {
        return this.#encodeMixed(bytes, { receivedAtMs }, some)
      })
    }
    const events = this.#events
    const facts = this.#facts
    const source = tapeSource(bytes, this.#tape)
    const encoded = this.#blocks.encodeShared(source, events, facts, range, runs, output?.block)
    const index = this.#blocks.index(source, events, facts, range)
    return [
      {
        runs: runs.map((run) => ({
          streamId: run.streamId,
          eventCount: run.count,
          rawBytes: textLength(events, run),
          sentBytes: run.sentBytes,
          delta: this.#deltas.encode(
            source,
            events,
            facts,
            run,
            { streamId: run.streamId, receivedAtMs },
            index,
            range,
          ),
        })),
        eventCount: range.count,
        rawBytes: textLength(events, range),
        sentBytes: sumOf(runs, 'sentBytes'),
        payload: this.#segments.encode(source, index, events, facts, range, output?.payload),
        ...encoded,
        delta: { shapes: [], shapesSkipped: 0, largePaths: [] },
      },
    ]
  }

  /** With what tails match: segments and their runs lie one behind another. */
  #sieveAll(
    bytes: Uint8Array,
    segments: readonly EncodedSegment[],
    { streamId }: Pick<AcceptedBatch, 'streamId'>,
    watched: readonly WatchedQueries[],
  ): EncodedSegment[] {
    const taped = { tape: this.#tape, bytes, events: this.#events, facts: this.#facts }
    let first = 0
    return segments.map((segment) => {
      const { runs = [{ streamId, eventCount: segment.eventCount }] } = segment
      const sieved = runs.map(({ streamId: of, eventCount: count }): SievedEvents | undefined => {
        const queries = watched.find((one) => one.streamId === of)
        first += count
        return queries && this.#sieve.run(taped, { first: first - count, count }, queries)
      })
      return { ...segment, sieved }
    })
  }

  #encodeRange(
    bytes: Uint8Array,
    range: EventRange,
    origin: DeltaOrigin,
    output?: SegmentOutput,
  ): Encoded {
    const tape = this.#tape
    const events = this.#events
    const source = tapeSource(bytes, tape)
    const facts = this.#facts
    const index = this.#blocks.begin(source, events, facts, range)
    const texts = this.#segments.gather(source, index, events, range)
    const encoded = this.#blocks.finish(output?.block, texts)
    return {
      eventCount: range.count,
      rawBytes: textLength(events, range),
      payload: this.#segments.encodeGathered(source, events, facts, range, output?.payload),
      ...encoded,
      delta: this.#deltas.encode(source, events, facts, range, origin, index),
    }
  }
}

/** The parts with which each owner begins. */
function ownerStarts(owners: readonly BatchOwner[]): ReadonlySet<number> {
  let part = 0
  return new Set(
    owners.map(({ parts }) => {
      part += parts
      return part - parts
    }),
  )
}

/** The events of each owner; an owner with none left has no run. */
function runsOf(owners: readonly BatchOwner[], outcomes: readonly PartOutcome[]): EventRun[] {
  const runs: EventRun[] = []
  let first = 0
  let part = 0
  for (const { streamId, parts } of owners) {
    let count = 0
    let sentBytes = 0
    for (const outcome of outcomes.slice(part, part + parts)) {
      count += outcome.accepted
      sentBytes += outcome.acceptedBytes
    }
    runs.push(...cutRun({ streamId, first, count, sentBytes }))
    first += count
    part += parts
  }
  return runs
}

/** A run of more events than a segment may hold is several; not a byte is lost. */
function cutRun(run: EventRun): EventRun[] {
  const runs: EventRun[] = []
  let { first, count, sentBytes } = run
  while (count > 0) {
    const taken = Math.min(count, SEGMENT_EVENTS_MAX)
    const bytes = Math.round((sentBytes * taken) / count)
    runs.push({ streamId: run.streamId, first, count: taken, sentBytes: bytes })
    first += taken
    count -= taken
    sentBytes -= bytes
  }
  return runs
}

/** A batch of several segments, of tiny events, shares by their number; not a byte is lost. */
function shareSentBytes(
  segments: readonly Encoded[],
  outcomes: readonly PartOutcome[],
): EncodedSegment[] {
  let bytes = 0
  for (const { acceptedBytes } of outcomes) bytes += acceptedBytes
  let events = 0
  for (const { eventCount } of segments) events += eventCount
  return segments.map((segment) => {
    const sentBytes = Math.round((bytes * segment.eventCount) / events)
    bytes -= sentBytes
    events -= segment.eventCount
    return { ...segment, sentBytes }
  })
}

function sumOf(runs: readonly EventRun[], key: 'count' | 'sentBytes'): number {
  return runs.reduce((sum, run) => sum + run[key], 0)
}
