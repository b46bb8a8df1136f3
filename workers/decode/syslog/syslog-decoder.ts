/**
 * Records of syslog (`src/model/batch/syslog-part.ts`) to events, one each: whatever the bytes of a
 * message are, they are at least its `message`. The time stays beside the event.
 *
 * A message that is not UTF-8 is repaired as a whole before it is read. Subtle: that is first found
 * in what was written of a part, which then is written again, message by message; the parts that
 * follow are judged by messages at once, until one has nothing to repair.
 */
import { isUtf8 } from 'node:buffer'
import { SYSLOG_GENERATED_BYTES_MAX } from '../../../src/limits.ts'
import type { ByteRange } from '../../../src/model/batch/accepted-batch.ts'
import {
  SYSLOG_CUT,
  SYSLOG_HEAD_BYTES,
  type SyslogPartOptions,
} from '../../../src/model/batch/syslog-part.ts'
import type { ByteSource } from '../../build/scalar-writer.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import { EventBuffer, viewOf } from '../../tape/event-buffer.ts'
import { JsonTape } from '../../tape/json-tape.ts'
import { PathTrie } from '../../tape/path-trie.ts'
import type { Decoder, DecodeTarget } from '../decoder.ts'
import { TOO_LARGE_MESSAGE } from '../ndjson.ts'
import { PartOutcome } from '../part-outcome.ts'
import { EventWriter } from './event-writer.ts'
import { readMessage } from './read-message.ts'
import { SyslogMessage, TEXT } from './syslog-message.ts'

const LENGTH_BYTES = 4
const NO_LINE = 0
const UTC = 'UTC'

export const syslogDecoder: Decoder = {
  input: 'binary',
  create: (target) => {
    const decoder = new SyslogDecoder(target)
    return (bytes, part, { receivedAtMs }) => {
      return decoder.decode(bytes, part, part.options ?? {}, receivedAtMs)
    }
  },
}

export class SyslogDecoder {
  readonly #generatedBytesMax: number
  readonly #events: DecodedEvents
  readonly #tape: JsonTape
  readonly #writer: EventWriter
  readonly #message = new SyslogMessage()
  /** What judges JSON, where there is any. */
  #judge: JsonTape | undefined
  readonly #repaired = new EventBuffer()
  /** What the judge was begun with. */
  #judged: Uint8Array | undefined
  /** Whether the last part had something to repair. */
  #isDirty = false
  /** Whether a name was no UTF-8, which is repaired as it is written. */
  #hasBadKeys = false
  readonly #judgeOf = (): JsonTape => this.#beginJudge()

  /** `generatedBytesMax`: what a part may become. */
  constructor(target: DecodeTarget, generatedBytesMax = SYSLOG_GENERATED_BYTES_MAX) {
    this.#generatedBytesMax = generatedBytesMax
    this.#events = target.events
    this.#tape = target.tape
    this.#writer = new EventWriter(target)
  }

  /** Decodes a part of `bytes`, the arena's. */
  decode(
    bytes: Uint8Array,
    range: ByteRange,
    { timeZone = UTC }: SyslogPartOptions,
    receivedAtMs: number,
  ): PartOutcome {
    const { builder } = this.#writer
    this.#message.time.begin(timeZone, receivedAtMs)
    this.#writer.begin()
    const before = { at: builder.at, events: this.#events.count, tape: this.#tape.length }
    const undo = () => {
      this.#events.truncate(before.events)
      this.#tape.length = before.tape
      builder.at = before.at
    }
    let outcome = this.#decode(bytes, range, this.#isDirty)
    const isClean = !this.#hasBadKeys && builder.isCleanSince(before.at)
    if (!this.#isDirty && !outcome.failed && !isClean) {
      undo()
      outcome = this.#decode(bytes, range, true)
    }
    this.#isDirty = outcome.repaired > 0
    if (outcome.failed) undo()
    builder.end()
    this.#judged = undefined
    return outcome
  }

  #decode(bytes: Uint8Array, { start, end }: ByteRange, repairs: boolean): PartOutcome {
    const outcome = new PartOutcome()
    const source = { bytes, view: viewOf(bytes) }
    const { builder } = this.#writer
    const first = builder.at
    const address = bytes.byteOffset
    this.#judged = undefined
    this.#hasBadKeys = false
    for (let at = start; at < end; ) {
      const left = end - at - LENGTH_BYTES
      const length = left < 0 ? 0 : source.view.getUint32(at, true)
      const peerLength = left < 2 ? 0 : bytes[at + LENGTH_BYTES + 1]!
      if (length > left || length < SYSLOG_HEAD_BYTES - LENGTH_BYTES + peerLength) {
        outcome.fail(
          NO_LINE,
          'malformed',
          `records[${outcome.items}]: no record at byte ${at - start}`,
        )
        return outcome
      }
      const text = at + SYSLOG_HEAD_BYTES + peerLength
      const recordEnd = at + LENGTH_BYTES + length
      const isCut = (bytes[at + LENGTH_BYTES]! & SYSLOG_CUT) !== 0
      this.#writer.setPeer(bytes, address, text - peerLength, text)
      const textEnd = isCut ? wholeEnd(bytes, text, recordEnd) : recordEnd
      if (repairs && !isUtf8(bytes.subarray(text, textEnd))) {
        const repaired = this.#repair(bytes, text, textEnd)
        this.#add(repaired, 0, this.#repaired.length, isCut, recordEnd - text, outcome)
        outcome.repaired++
      } else this.#add(source, text, textEnd, isCut, recordEnd - text, outcome)
      if (builder.at - first > this.#generatedBytesMax) {
        outcome.fail(NO_LINE, 'too_large', generatedTooLarge(this.#generatedBytesMax))
        return outcome
      }
      at = recordEnd
    }
    return outcome
  }

  #add(
    source: ByteSource,
    start: number,
    end: number,
    isCut: boolean,
    sentBytes: number,
    outcome: PartOutcome,
  ): void {
    const message = this.#message
    const { builder } = this.#writer
    message.begin(source)
    readMessage(message, start, end, this.#judgeOf)
    builder.beginEvent()
    let isWritten = this.#writer.write(message, isCut)
    let eventStart = isWritten ? builder.endEvent() : -1
    if (eventStart < 0) {
      // Its members may be too much beside its text.
      builder.dropEvent()
      builder.beginEvent()
      message.reset()
      message.set(TEXT, start, end)
      isWritten = this.#writer.write(message, isCut)
      eventStart = isWritten ? builder.endEvent() : -1
    }
    if (eventStart < 0) {
      builder.dropEvent()
      const text = `records[${outcome.items}]: ${TOO_LARGE_MESSAGE}`
      return outcome.reject(NO_LINE, 'too_large', text)
    }
    if (builder.isRepaired) this.#hasBadKeys = true
    this.#events.add(eventStart, builder.at - 1, this.#tape.length)
    outcome.accept(sentBytes)
    const { time } = message
    if (time.isFound) this.#events.setTime(time.ms, time.nanos, true)
  }

  /** Each bad sequence becomes U+FFFD. The copy leaves shared memory. */
  #repair(bytes: Uint8Array, start: number, end: number): ByteSource {
    const text = Buffer.from(bytes.subarray(start, end)).toString('utf8')
    const repaired = this.#repaired
    repaired.hold(Buffer.from(text))
    this.#judged = undefined
    return { bytes: repaired.bytes, view: repaired.view }
  }

  #beginJudge(): JsonTape {
    this.#judge ??= new JsonTape(new PathTrie())
    const { bytes } = this.#message.source
    if (this.#judged !== bytes) {
      this.#judge.begin(bytes)
      this.#judged = bytes
    }
    return this.#judge
  }
}

function generatedTooLarge(bytesMax: number): string {
  return `the events of a batch would be over ${bytesMax} bytes (SYSLOG_GENERATED_BYTES_MAX)`
}

/** Before the character that was cut, if one was. */
function wholeEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = end
  const stop = Math.max(start, end - 3)
  while (at > stop && (bytes[at - 1]! & 0xc0) === 0x80) at--
  if (at === start) return end
  const first = bytes[at - 1]!
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
  return end - at + 1 < length ? at - 1 : end
}
