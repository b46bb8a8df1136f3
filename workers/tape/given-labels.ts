/**
 * What a protocol says of events beside their JSON: level, service, and the ids of trace and span.
 * Only events that have any of it are marked; where none of a batch is, nothing else is looked at.
 */

export const TRACE_ID_BYTES = 16
export const SPAN_ID_BYTES = 8
export const IDS_BYTES = TRACE_ID_BYTES + SPAN_ID_BYTES
/** Kinds of ids. */
const TRACE = 1
const SPAN = 2
const NO_NAME = new Uint8Array(0)

export class GivenLabels {
  /** Whether an event is marked; only then the arrays count. */
  any = false
  /** 1 where the protocol said something. */
  isGiven = new Uint8Array(0)
  /** A level's number, or 0. */
  level = new Uint8Array(0)
  /** The number of a name in `services`, or 0. */
  service = new Int32Array(0)
  /** TRACE and SPAN, where the event has such an id. */
  kinds = new Uint8Array(0)
  /** IDS_BYTES an event: the trace's id, the span's, where it has them. */
  ids = new Uint8Array(0)
  /** Names of the batch's services, from 1 on. */
  services: Uint8Array[] = [NO_NAME]
  readonly #numbers = new WeakMap<Uint8Array, number>()

  reset(): void {
    if (this.services.length > 1) this.services = [NO_NAME]
    if (this.any) this.isGiven.fill(0)
    this.any = false
  }

  /** Drops what is known of the events from `first` on. */
  truncate(first: number): void {
    if (this.any) this.isGiven.fill(0, first)
  }

  /** Returns the number of a service, whose name is the caller's no more. */
  addService(name: Uint8Array): number {
    return this.services.push(name) - 1
  }

  /** The number of a service, which may be known; for names of which few objects are. */
  serviceOf(name: Uint8Array): number {
    const known = this.#numbers.get(name)
    if (known !== undefined && this.services[known] === name) return known
    const added = this.addService(name)
    this.#numbers.set(name, added)
    return added
  }

  /** Marks an event, which has no ids. `capacity`: of the batch's arrays, more than `event`. */
  set(event: number, capacity: number, level: number, service: number): void {
    if (this.isGiven.length < capacity) this.#grow(capacity)
    this.any = true
    this.isGiven[event] = 1
    this.level[event] = level
    this.service[event] = service
    this.kinds[event] = 0
  }

  setTraceId(event: number, id: Uint8Array): void {
    this.kinds[event]! |= TRACE
    copy(id, 0, TRACE_ID_BYTES, this.ids, event * IDS_BYTES)
  }

  setSpanId(event: number, id: Uint8Array): void {
    this.kinds[event]! |= SPAN
    copy(id, 0, SPAN_ID_BYTES, this.ids, event * IDS_BYTES + TRACE_ID_BYTES)
  }

  /** Of either kind. */
  hasIds(event: number): boolean {
    return this.kinds[event] !== 0
  }

  hasTraceId(event: number): boolean {
    return (this.kinds[event]! & TRACE) !== 0
  }

  hasSpanId(event: number): boolean {
    return (this.kinds[event]! & SPAN) !== 0
  }

  /** Copies an id that the event has; returns where it ends. */
  copyTraceId(event: number, to: Uint8Array, at: number): number {
    return copy(this.ids, event * IDS_BYTES, TRACE_ID_BYTES, to, at)
  }

  copySpanId(event: number, to: Uint8Array, at: number): number {
    return copy(this.ids, event * IDS_BYTES + TRACE_ID_BYTES, SPAN_ID_BYTES, to, at)
  }

  /** Whether the protocol said something of the event. */
  has(event: number): boolean {
    return this.any && this.isGiven[event] === 1
  }

  nameOf(event: number): Uint8Array {
    return this.services[this.service[event]!] ?? NO_NAME
  }

  #grow(capacity: number): void {
    const { isGiven, level, service, kinds, ids } = this
    this.isGiven = new Uint8Array(capacity)
    this.level = new Uint8Array(capacity)
    this.service = new Int32Array(capacity)
    this.kinds = new Uint8Array(capacity)
    this.ids = new Uint8Array(capacity * IDS_BYTES)
    this.isGiven.set(isGiven)
    this.level.set(level)
    this.service.set(service)
    this.kinds.set(kinds)
    this.ids.set(ids)
  }
}

/** An id of zeros is none. */
export function isId(id: Uint8Array): boolean {
  for (let i = 0; i < id.length; i++) if (id[i] !== 0) return true
  return false
}

function copy(from: Uint8Array, start: number, length: number, to: Uint8Array, at: number): number {
  for (let i = 0; i < length; i++) to[at + i] = from[start + i]!
  return at + length
}
