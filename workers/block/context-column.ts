/** The column `context` of a block: a String in Native form. See `src/model/projection.ts`. */
import { CONTEXT_IDS, CONTEXT_SERVICE_AT } from '../../src/model/projection.ts'
import type { EventLabels } from '../facts/event-labels.ts'
import { NO_SERVICE } from '../facts/service-names.ts'
import type { ByteWriter } from '../kernel/byte-writer.ts'
import type { GivenLabels } from '../tape/given-labels.ts'

interface Rows {
  readonly first: number
  readonly count: number
}

export function writeContexts(
  writer: ByteWriter,
  labels: EventLabels,
  { first, count }: Rows,
): void {
  const { given } = labels
  if (!given.any) {
    writer.reserve(count)
    writer.bytes.fill(0, writer.length, writer.length + count)
    writer.length += count
    return
  }
  for (let event = first; event < first + count; event++) {
    const service = labels.ownService[event]!
    if (!given.has(event) || !saysMore(labels, event)) {
      writer.varuint(0)
      continue
    }
    const length = service === NO_SERVICE ? 0 : labels.names.lengthOf(service)
    if (length === 0 && !given.hasIds(event)) {
      writeOtherService(writer)
      continue
    }
    writer.varuint(CONTEXT_SERVICE_AT + length)
    writer.reserve(CONTEXT_SERVICE_AT + length)
    const at = writeIds(given, event, writer.bytes, writer.length)
    if (service !== NO_SERVICE) labels.names.copy(service, writer.bytes, at)
    writer.length += CONTEXT_SERVICE_AT + length
  }
}

/** One byte: no ids, and the event's fields say no service. */
function writeOtherService(writer: ByteWriter): void {
  writer.reserve(2)
  writer.bytes[writer.length] = 1
  writer.bytes[writer.length + 1] = 0
  writer.length += 2
}

/** Zeros for an id that the event has not; returns where they end. */
function writeIds(given: GivenLabels, event: number, to: Uint8Array, at: number): number {
  const end = at + CONTEXT_SERVICE_AT
  for (let i = at; i < end; i++) to[i] = 0
  if (given.hasTraceId(event)) given.copyTraceId(event, to, at + CONTEXT_IDS._trace_id.at)
  if (given.hasSpanId(event)) given.copySpanId(event, to, at + CONTEXT_IDS._span_id.at)
  return end
}

/** A level alone is in the column `level`, and so is a service that the event's fields say, too. */
function saysMore({ given, ownService, service }: EventLabels, event: number): boolean {
  const isOther = ownService[event] !== service[event]
  return isOther || given.hasIds(event)
}
