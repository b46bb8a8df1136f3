/**
 * Lines of `/services/collector/raw`: each that is not empty is an event, its `message`, or its
 * `log` where it looks like an object, as in envelopes. What the URL says is in each.
 */
import { EVENT_BYTES_MAX } from '../../../src/limits.ts'
import type { ByteRange } from '../../../src/model/batch/accepted-batch.ts'
import type { HecPartOptions } from '../../../src/model/batch/hec-part.ts'
import { HecTime } from '../../../src/model/hec-time.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import { viewOf } from '../../tape/event-buffer.ts'
import type { DecodeTarget } from '../decoder.ts'
import { TOO_LARGE_MESSAGE } from '../ndjson.ts'
import { PartOutcome } from '../part-outcome.ts'
import { GENERATED_TOO_LARGE, HecWriter, LOG, MESSAGE, METADATA } from './hec-writer.ts'
import { looksLikeObject } from './looks-like-object.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
/** A line that is short enough may be longer as JSON. */
const ESCAPED_BYTES_MAX = Number.MAX_SAFE_INTEGER

export class HecRawDecoder {
  readonly #events: DecodedEvents
  readonly #target: DecodeTarget
  readonly #writer: HecWriter
  readonly #time = new HecTime()

  constructor(target: DecodeTarget) {
    this.#target = target
    this.#events = target.events
    this.#writer = new HecWriter(target)
  }

  /** A last line without a line feed is followed by one. */
  decode(given: Uint8Array, range: ByteRange, options: HecPartOptions): PartOutcome {
    const outcome = new PartOutcome()
    const { tape, generated } = this.#target
    const before = { events: this.#events.count, tape: tape.length, at: generated.length }
    const bytes = tape.batch.hold(given)
    const view = viewOf(bytes)
    this.#writer.begin(options)
    const time = Buffer.from(options.time ?? '0')
    this.#time.tryRead(time, 0, time.length)
    for (let start = range.start; start < range.end; ) {
      outcome.lines++
      const next = bytes.indexOf(LINE_FEED, start) + 1
      let end = next - 1
      if (end > start && bytes[end - 1] === CARRIAGE_RETURN) end--
      if (end - start > EVENT_BYTES_MAX) {
        outcome.reject(outcome.lines, 'too_large', TOO_LARGE_MESSAGE)
      } else if (end > start) {
        this.#write(bytes, view, start, end)
        outcome.accept(Math.min(next, range.end) - start)
      }
      if (!this.#writer.hasBudget) {
        outcome.fail(outcome.lines, 'too_large', GENERATED_TOO_LARGE)
        this.#events.truncate(before.events)
        tape.length = before.tape
        generated.length = before.at
        break
      }
      start = next
    }
    return outcome
  }

  #write(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const writer = this.#writer
    const name = looksLikeObject(bytes, start, end) ? LOG : MESSAGE
    writer.open()
    writer.reserve(0)
    writer.openBrace()
    writer.key(name, true)
    writer.string(writer.nodeOf(name), view, start, end)
    for (let member = 0; member < METADATA.length; member++) {
      const at = writer.defaultStart[member]!
      if (at < 0) continue
      writer.key(METADATA[member]!, false)
      const node = writer.nodeOf(METADATA[member]!)
      writer.value(node, writer.defaultBytes, at, writer.defaultEnd[member]!)
    }
    writer.close(false, ESCAPED_BYTES_MAX)
    writer.add()
    const { ms, nanos } = this.#time
    if (ms !== 0 || nanos !== 0) this.#events.setTime(ms, nanos, true)
  }
}
