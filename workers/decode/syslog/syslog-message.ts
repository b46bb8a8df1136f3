/**
 * One message of syslog as it was read: ranges of its bytes and a few numbers. One object for all
 * messages of a worker.
 */
import type { ByteSource } from '../../build/scalar-writer.ts'
import { viewOf } from '../../tape/event-buffer.ts'
import { FieldList } from './field-list.ts'
import { HEADER_NAMES } from './header-names.ts'
import { SyslogTime } from './syslog-time.ts'

export const NO_NUMBER = -1

/** What the text of a message holds beside text. */
export const PLAIN = 0
export const JSON_OBJECT = 1
export const CEF = 2
export const LEEF = 3

/** Parts of a message: their ranges are by these numbers, and empty where there is none. */
export const HOST = 0
export const APP = 1
export const PROCESS = 2
export const MESSAGE_ID = 3
/** The time since a device was started, which Cisco may write instead of a time. */
export const UPTIME = 4
export const TEXT = 5
const PARTS = 6

const NO_BYTES = new Uint8Array(0)

export class SyslogMessage {
  /** What all ranges are of. */
  source: ByteSource = { bytes: NO_BYTES, view: viewOf(NO_BYTES) }
  /** Where these begin in the arena. */
  address = 0
  /** Facility and severity in one number; NO_NUMBER where the message says none. */
  priority = NO_NUMBER
  /** The severity that a tag of Cisco's or Huawei's says. */
  tagSeverity = NO_NUMBER
  /** Cisco's counter of messages. */
  sequence = NO_NUMBER
  /** What is in the text: PLAIN, and so on; its members are in `payload`. */
  kind = PLAIN
  readonly start = new Int32Array(PARTS)
  readonly end = new Int32Array(PARTS)
  readonly time = new SyslogTime()
  /** Structured data. */
  readonly elements = new FieldList()
  readonly payload = new FieldList(HEADER_NAMES)

  /** Starts a message. */
  begin(source: ByteSource): void {
    if (source !== this.source) {
      this.source = source
      this.address = source.bytes.byteOffset
    }
    this.priority = NO_NUMBER
    this.reset()
  }

  /** Forgets all but the priority. */
  reset(): void {
    this.tagSeverity = NO_NUMBER
    this.sequence = NO_NUMBER
    this.kind = PLAIN
    const { start, end } = this
    // Faster than `fill` for so few.
    for (let part = 0; part < PARTS; part++) {
      start[part] = 0
      end[part] = 0
    }
    this.time.clear()
    if (this.elements.groups > 0) this.elements.clear(this.source)
    if (this.payload.count > 0) this.payload.clear(this.source)
  }

  set(part: number, start: number, end: number): void {
    this.start[part] = start
    this.end[part] = end
  }

  has(part: number): boolean {
    return this.end[part]! > this.start[part]!
  }
}
