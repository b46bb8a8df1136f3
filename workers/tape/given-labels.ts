/**
 * What a protocol says of events beside their JSON: level, service, and the ids of trace and span.
 * Only events that have any of it are marked; where none of a batch is, nothing else is looked at.
 */

export const TRACE_ID_BYTES = 16
export const SPAN_ID_BYTES = 8
export const IDS_BYTES = TRACE_ID_BYTES + SPAN_ID_BYTES
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
  /** IDS_BYTES an event: the trace's id, the span's; zeros where there is none. */
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

  /** Marks an event; its ids are zeros. `capacity`: of the batch's arrays, more than `event`. */
  set(event: number, capacity: number, level: number, service: number): void {
    if (this.isGiven.length < capacity) this.#grow(capacity)
    this.any = true
    this.isGiven[event] = 1
    this.level[event] = level
    this.service[event] = service
    this.ids.fill(0, event * IDS_BYTES, (event + 1) * IDS_BYTES)
  }

  setTraceId(event: number, id: Uint8Array): void {
    this.ids.set(id, event * IDS_BYTES)
  }

  setSpanId(event: number, id: Uint8Array): void {
    this.ids.set(id, event * IDS_BYTES + TRACE_ID_BYTES)
  }

  hasTraceId(event: number): boolean {
    return hasBits(this.ids, event * IDS_BYTES, TRACE_ID_BYTES)
  }

  hasSpanId(event: number): boolean {
    return hasBits(this.ids, event * IDS_BYTES + TRACE_ID_BYTES, SPAN_ID_BYTES)
  }

  /** Copies `length` bytes of an event's ids, from their `offset` on; returns where they end. */
  copyIds(event: number, offset: number, length: number, to: Uint8Array, at: number): number {
    const start = event * IDS_BYTES + offset
    for (let i = 0; i < length; i++) to[at + i] = this.ids[start + i]!
    return at + length
  }

  /** Whether the protocol said something of the event. */
  has(event: number): boolean {
    return this.any && this.isGiven[event] === 1
  }

  nameOf(event: number): Uint8Array {
    return this.services[this.service[event]!] ?? NO_NAME
  }

  #grow(capacity: number): void {
    const { isGiven, level, service, ids } = this
    this.isGiven = new Uint8Array(capacity)
    this.level = new Uint8Array(capacity)
    this.service = new Int32Array(capacity)
    this.ids = new Uint8Array(capacity * IDS_BYTES)
    this.isGiven.set(isGiven)
    this.level.set(level)
    this.service.set(service)
    this.ids.set(ids)
  }
}

/** An id of zeros is none. */
export function isId(id: Uint8Array): boolean {
  return hasBits(id, 0, id.length)
}

function hasBits(bytes: Uint8Array, start: number, length: number): boolean {
  for (let i = start; i < start + length; i++) if (bytes[i] !== 0) return true
  return false
}
