/**
 * Explicit labels: those of events whose text does not hold them (what an OTLP record says beside a
 * structured body). `docs/segment-format.md` has them to the byte.
 *
 *   varuint services; of each: varuint bytes, its name
 *   varuint runs; of each, neighbouring events of which the same is known: varuint events since the
 *   run before, varuint events, a byte of what is known, then if so varuint service
 *   of each event in these: 16 bytes, 8 bytes, if they have such ids
 */
import { LEVELS } from '../../src/model/event-labels.ts'
import { pushVaruint } from '../../src/model/varuint.ts'
import type { EventRange } from '../block/native-block.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import {
  type GivenLabels,
  IDS_BYTES,
  isId,
  SPAN_ID_BYTES,
  TRACE_ID_BYTES,
} from '../tape/given-labels.ts'
import { LayoutReader } from './layout-reader.ts'

/** The lower bits of an event's byte are its level, 0 for none. */
const LEVEL_BITS = 7
const HAS_SERVICE = 8
const HAS_TRACE_ID = 16
const HAS_SPAN_ID = 32
const KNOWN_BITS = LEVEL_BITS | HAS_SERVICE | HAS_TRACE_ID | HAS_SPAN_ID
/** Three varuints and a byte. */
const RUN_BYTES_MAX = 16
/** Of an event's text, with its line feed. */
const EVENT_BYTES_MIN = 3
const NOTHING = Buffer.alloc(0)
const NO_NAME = new Uint8Array(0)

export interface GivenToEvent {
  /** A level's number, or 0. */
  readonly level: number
  /** Empty for none. */
  readonly service: Uint8Array
  readonly traceId: Uint8Array | undefined
  readonly spanId: Uint8Array | undefined
}

/** By ordinal. */
export type ExplicitLabels = ReadonlyMap<number, GivenToEvent>

export const NO_LABELS: ExplicitLabels = new Map()

/** Reused from segment to segment. */
let runBytes = Buffer.alloc(0)
let idBytes = Buffer.alloc(0)

/** Those of a range of events; empty when it has none. */
export function encodeLabels({ given }: DecodedEvents, { first, count }: EventRange): Buffer {
  if (!given.any) return NOTHING
  if (idBytes.length < count * IDS_BYTES) {
    runBytes = Buffer.allocUnsafeSlow(count * RUN_BYTES_MAX * 2)
    idBytes = Buffer.allocUnsafeSlow(count * IDS_BYTES * 2)
  }
  const services = new ServiceList()
  const end = first + count
  let runs = 0
  let at = 0
  let idsAt = 0
  let since = first
  for (let event = first; event < end; ) {
    if (!given.has(event)) {
      event++
      continue
    }
    const start = event
    const bits = bitsOf(given, start)
    const service = given.service[start]!
    do {
      if ((bits & HAS_TRACE_ID) !== 0) {
        idsAt = given.copyTraceId(event, idBytes, idsAt)
      }
      if ((bits & HAS_SPAN_ID) !== 0) {
        idsAt = given.copySpanId(event, idBytes, idsAt)
      }
      event++
    } while (event < end && isAlike(given, event, bits, service))
    at = writeVaruint(runBytes, at, start - since)
    at = writeVaruint(runBytes, at, event - start)
    runBytes[at++] = bits
    if (service !== 0) at = writeVaruint(runBytes, at, services.placeOf(service, given))
    since = event
    runs++
  }
  if (runs === 0) return NOTHING
  const head = services.encode()
  pushVaruint(head, runs)
  return Buffer.concat([Buffer.from(head), runBytes.subarray(0, at), idBytes.subarray(0, idsAt)])
}

function bitsOf(given: GivenLabels, event: number): number {
  return (
    given.level[event]! |
    (given.service[event] === 0 ? 0 : HAS_SERVICE) |
    (given.hasTraceId(event) ? HAS_TRACE_ID : 0) |
    (given.hasSpanId(event) ? HAS_SPAN_ID : 0)
  )
}

function isAlike(given: GivenLabels, event: number, bits: number, service: number): boolean {
  return given.has(event) && given.service[event] === service && bitsOf(given, event) === bits
}

/** The services of a segment, numbered from 0 as they come. */
class ServiceList {
  readonly #places = new Map<number, number>()
  readonly #names: number[] = []

  placeOf(service: number, given: GivenLabels): number {
    const known = this.#places.get(service)
    if (known !== undefined) return known
    const place = this.#places.size
    this.#places.set(service, place)
    const name = given.services[service]!
    pushVaruint(this.#names, name.length)
    for (const byte of name) this.#names.push(byte)
    return place
  }

  encode(): number[] {
    const bytes: number[] = []
    pushVaruint(bytes, this.#places.size)
    return bytes.concat(this.#names)
  }
}

function writeVaruint(bytes: Uint8Array, start: number, value: number): number {
  let at = start
  let rest = value
  for (; rest >= 0x80; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80
  bytes[at++] = rest
  return at
}

/** The inverse, for a text of so many bytes. Throws on what it did not write. */
export function decodeLabels(bytes: Buffer, textBytes: number): ExplicitLabels {
  if (bytes.length === 0) return NO_LABELS
  const reader = new LayoutReader(bytes)
  const services: Uint8Array[] = []
  for (let left = reader.varuint(); left > 0; left--) {
    const name = Uint8Array.from(reader.bytes(reader.varuint()))
    if (name.length === 0) throw new Error('segment has a service without a name')
    services.push(name)
  }
  const runs: LabelRun[] = []
  let ordinal = 0
  for (let left = reader.varuint(); left > 0; left--) {
    const first = ordinal + reader.varuint()
    const count = reader.varuint()
    const bits = reader.byte()
    const level = bits & LEVEL_BITS
    const isKnown = (bits & ~KNOWN_BITS) === 0 && level <= LEVELS.length && bits !== 0
    if (!isKnown || count === 0 || (first + count) * EVENT_BYTES_MIN > textBytes) {
      throw new Error('segment has labels that are none')
    }
    const service = (bits & HAS_SERVICE) === 0 ? NO_NAME : services[reader.varuint()]
    if (service === undefined) throw new Error('segment names a service that it lacks')
    runs.push({ first, count, bits, level, service })
    ordinal = first + count
  }
  if (runs.length === 0) throw new Error('segment has services of no event')
  return readIds(reader, runs)
}

interface LabelRun {
  readonly first: number
  readonly count: number
  readonly bits: number
  readonly level: number
  readonly service: Uint8Array
}

function readIds(reader: LayoutReader, runs: readonly LabelRun[]): ExplicitLabels {
  const labels = new Map<number, GivenToEvent>()
  for (const { first, count, bits, level, service } of runs) {
    for (let ordinal = first; ordinal < first + count; ordinal++) {
      const traceId = readId(reader, (bits & HAS_TRACE_ID) === 0 ? 0 : TRACE_ID_BYTES)
      const spanId = readId(reader, (bits & HAS_SPAN_ID) === 0 ? 0 : SPAN_ID_BYTES)
      labels.set(ordinal, { level, service, traceId, spanId })
    }
  }
  reader.end()
  return labels
}

function readId(reader: LayoutReader, length: number): Uint8Array | undefined {
  if (length === 0) return undefined
  const id = Uint8Array.from(reader.bytes(length))
  if (!isId(id)) throw new Error('segment has an id of zeros')
  return id
}

/** Gives an event of `events` what its segment says of it. */
export function giveLabels(events: DecodedEvents, event: number, labels: GivenToEvent): void {
  const { level, service, traceId, spanId } = labels
  const { given } = events
  events.setLabels(event, level, service.length === 0 ? 0 : given.serviceOf(service))
  if (traceId !== undefined) given.setTraceId(event, traceId)
  if (spanId !== undefined) given.setSpanId(event, spanId)
}
