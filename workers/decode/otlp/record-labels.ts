/**
 * What a record with a structured body says beside it: level, service and ids become labels of its
 * event, whose JSON does not have them.
 */
import { isUtf8 } from 'node:buffer'
import { SERVICE_BYTES_MAX } from '../../../src/limits.ts'
import { LEVELS, SEVERITY_NUMBERS_A_LEVEL } from '../../../src/model/event-labels.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import { levelOfText, NO_LEVEL } from '../../tape/level-words.ts'
import { tryFindString } from './find-members.ts'
import type { AnyValueDecoder } from './otlp-any-value.ts'
import type { OtlpContext } from './otlp-context.ts'
import type { FieldRange, RecordFields } from './record-fields.ts'

const TAG_RESOURCE_ATTRIBUTE = 0x0a
const SERVICE_KEY = Buffer.from('service.name')
const NO_SERVICE = 0

export class RecordLabels {
  readonly #values: AnyValueDecoder
  readonly #found: FieldRange = { start: 0, end: 0 }
  /** Of the resource that was looked at last. */
  #service = NO_SERVICE
  #resource = -1

  constructor(values: AnyValueDecoder) {
    this.#values = values
  }

  /** Starts a part. */
  begin(): void {
    this.#resource = -1
  }

  /** Gives them to the newest event. */
  give(events: DecodedEvents, fields: RecordFields, resource: OtlpContext): void {
    const level = this.#levelOf(fields)
    const service = this.#serviceOf(events, resource)
    const { hasTraceId, hasSpanId } = fields
    if (level === NO_LEVEL && service === NO_SERVICE && !hasTraceId && !hasSpanId) return
    const event = events.count - 1
    events.setLabels(event, level, service)
    if (hasTraceId) events.given.setTraceId(event, fields.traceId)
    if (hasSpanId) events.given.setSpanId(event, fields.spanId)
  }

  /** As of a wrapped event: the text, if it is one of a level, else the number. */
  #levelOf({ severityText: { start, end }, severityNumber: number }: RecordFields): number {
    const level = levelOfText(this.#values.source.bytes, start, end)
    if (level !== NO_LEVEL || number < 1) return level
    const numbered = Math.ceil(number / SEVERITY_NUMBERS_A_LEVEL)
    return numbered <= LEVELS.length ? numbered : NO_LEVEL
  }

  #serviceOf({ given }: DecodedEvents, { start, end }: OtlpContext): number {
    if (start === this.#resource) return this.#service
    this.#resource = start
    this.#service = NO_SERVICE
    const found = this.#found
    const values = this.#values
    if (!tryFindString(values, start, end, TAG_RESOURCE_ATTRIBUTE, SERVICE_KEY, found)) {
      return NO_SERVICE
    }
    const bytes = values.source.bytes.subarray(found.start, found.end)
    // Once a resource; the copy leaves shared memory, and repairs as `ScalarWriter` does.
    const copied = Buffer.from(bytes)
    const name = isUtf8(copied) ? copied : Buffer.from(copied.toString('utf8'))
    if (name.length > 0 && name.length <= SERVICE_BYTES_MAX) this.#service = given.addService(name)
    return this.#service
  }
}
