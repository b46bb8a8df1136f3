/** The column `context` of a block: a String in Native form. See `src/model/projection.ts`. */
import { CONTEXT_SERVICE_AT } from '../../src/model/projection.ts'
import type { EventLabels } from '../facts/event-labels.ts'
import { NO_SERVICE } from '../facts/service-names.ts'
import type { ByteWriter } from '../kernel/byte-writer.ts'

const NO_NAME = new Uint8Array(0)

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
    const name = service === NO_SERVICE ? NO_NAME : labels.names.nameOf(service)
    const length = CONTEXT_SERVICE_AT + name.length
    writer.varuint(length)
    writer.reserve(length)
    const at = given.copyIds(event, 0, CONTEXT_SERVICE_AT, writer.bytes, writer.length)
    writer.bytes.set(name, at)
    writer.length += length
  }
}

/** A level alone is in the column `level`, and so is a service that the event's fields say, too. */
function saysMore({ given, ownService, service }: EventLabels, event: number): boolean {
  const isOther = ownService[event] !== service[event]
  return isOther || given.hasTraceId(event) || given.hasSpanId(event)
}
