/**
 * Entries of Loki's streams as events, whatever encoding they came in:
 *
 *   {labels…, "message" or "log": the line, structured metadata…}
 *
 * A line that begins and ends as a JSON object does is `log`, as forwarders name it, so that it is
 * extracted as theirs is. Both names are the line's: a label of one of them is renamed, and so is
 * metadata with the name of a label, as Loki does it when it answers queries.
 *
 * The time stays beside the event. The labels of a stream are written once, for its first event,
 * and copied from that one to the others.
 */
import { OTLP_GENERATED_BYTES_MAX, OTLP_GENERATED_PER_BYTE_MAX } from '../../../src/limits.ts'
import type { RejectCode } from '../../../src/model/batch/part-result.ts'
import { EventBuilder, NO_KEY } from '../../build/event-builder.ts'
import type { ByteSource } from '../../build/scalar-writer.ts'
import { copyRange } from '../../kernel/arena-copy.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import { ROOT } from '../../tape/path-trie.ts'
import type { DecodeTarget } from '../decoder.ts'
import { TOO_LARGE_MESSAGE } from '../ndjson.ts'
import { PartOutcome } from '../part-outcome.ts'
import { isTextAt } from '../text-at.ts'
import type { Nanos } from './nanos.ts'
import { Pairs } from './pairs.ts'
import { PartError } from './part-error.ts'

const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const MESSAGE = Buffer.from('message')
const LOG = Buffer.from('log')
const SUFFIX = Buffer.from('_extracted')
/** Loki's requests have no lines that a reject could name. */
const NO_LINE = 0
const NOT_WRITTEN = -1

/** One entry, as its reader found it; its time is zero when it says none. */
export interface Entry extends Nanos {
  /** Where its line is. */
  readonly source: ByteSource
  lineStart: number
  lineEnd: number
  /** Set where the line is the inside of a JSON string; then whether it has escapes. */
  readonly isJson: boolean
  isEscaped: boolean
  /** Bytes of it in the request. */
  bytes: number
}

export class LokiEvents {
  readonly labels = new Pairs()
  readonly metadata = new Pairs()
  readonly #builder: EventBuilder
  readonly #events: DecodedEvents
  #outcome = new PartOutcome()
  /** Bytes of JSON that may still be made of the part, dropped events included. */
  #generatedLeft = 0
  #generatedMax = 0
  #messageNode = 0
  #logNode = 0
  /** Places for errors: of the current stream, and of its current entry. */
  #stream = -1
  #entry = -1
  #entriesName = ''
  // Where the stream's labels were written: bytes and entries of an event that is kept.
  #labelStart = NOT_WRITTEN
  #labelEnd = 0
  #labelTapeStart = 0
  #labelTapeEnd = 0
  #areLabelsRepaired = false
  #serial = 0

  constructor({ tape, events, generated }: DecodeTarget) {
    this.#builder = new EventBuilder(tape, generated)
    this.#events = events
  }

  /**
   * Decodes a part: `read` hands over its streams and entries, and throws a `PartError` where the
   * part fails as a whole; first of all it calls `begin`. `entriesName`: what the request calls a
   * stream's entries. Called once more when strings turn out to need repairs.
   */
  decode(entriesName: string, read: () => void): PartOutcome {
    this.#entriesName = entriesName
    return this.#tryDecode(read, false) ?? this.#tryDecode(read, true)!
  }

  /** Undefined when strings need repairs and `repairs` is not set. */
  #tryDecode(read: () => void, repairs: boolean): PartOutcome | undefined {
    const builder = this.#builder
    const events = this.#events
    const { tape } = builder
    const outcome = new PartOutcome()
    this.#outcome = outcome
    this.#stream = -1
    builder.begin()
    builder.repairs = repairs
    const [message, log] = builder.knownNodes(ROOT, [MESSAGE, LOG]) as [number, number]
    this.#messageNode = message
    this.#logNode = log
    const before = { at: builder.at, events: events.count, tape: tape.length }
    try {
      read()
    } catch (cause) {
      if (!(cause instanceof PartError)) throw cause
      outcome.fail(NO_LINE, cause.code, cause.message)
    }
    const isClean = repairs || outcome.failed || builder.isCleanSince(before.at)
    if (outcome.failed || !isClean) {
      events.truncate(before.events)
      tape.length = before.tape
      builder.at = before.at
    }
    builder.end()
    return isClean ? outcome : undefined
  }

  /** A request of so many bytes, decompressed: how much may be made of it goes by that. */
  begin(bytes: number): void {
    const most = Math.min(bytes * OTLP_GENERATED_PER_BYTE_MAX, OTLP_GENERATED_BYTES_MAX)
    this.#generatedMax = most
    this.#generatedLeft = most
  }

  /** A stream begins; its labels are in `labels`, if there is no `fault` with them. */
  beginStream(fault?: string): void {
    this.#stream++
    this.#entry = -1
    this.#labelStart = NOT_WRITTEN
    if (fault !== undefined) return
    const { labels } = this
    for (let i = 0; i < labels.count; i++) {
      if (!isLines(labels, i)) continue
      labels.setName(i, labels.renamed(i, SUFFIX, labels), labels.text.length)
    }
  }

  /** The next entry cannot be an event. */
  reject(reason: string, code: RejectCode = 'malformed'): void {
    this.#entry++
    const place = `streams[${this.#stream}].${this.#entriesName}[${this.#entry}]`
    this.#outcome.reject(NO_LINE, code, `${place}: ${reason}`)
  }

  /** The next entry, with its metadata in `metadata`. */
  add(entry: Entry): void {
    const builder = this.#builder
    const events = this.#events
    builder.beginEvent()
    const eventAt = builder.at
    const eventStart = this.#write(entry) ? builder.endEvent() : -1
    this.#generatedLeft -= builder.at - eventAt
    if (this.#generatedLeft < 0) {
      throw new PartError(tooMuch(this.#generatedMax), 'too_large')
    }
    if (eventStart < 0) {
      // The labels may have been written with this event.
      if (this.#labelStart >= eventAt) this.#labelStart = NOT_WRITTEN
      builder.dropEvent()
      return this.reject(TOO_LARGE_MESSAGE, 'too_large')
    }
    this.#entry++
    events.add(eventStart, builder.at - 1, builder.tape.length)
    this.#outcome.accept(entry.bytes)
    if (builder.isRepaired) this.#outcome.repaired++
    if (entry.ms !== 0 || entry.nanos !== 0) events.setTime(entry.ms, entry.nanos, true)
  }

  #write(entry: Entry): boolean {
    const builder = this.#builder
    this.#serial = builder.openObject()
    if (!this.#writeLabels()) return false
    const { source, lineStart: start, lineEnd: end } = entry
    const { bytes } = source
    const isObject =
      end - start > 1 && bytes[start] === OPEN_OBJECT && bytes[end - 1] === CLOSE_OBJECT
    const node = isObject ? this.#logNode : this.#messageNode
    builder.knownKey(node, this.labels.count === 0)
    const isWritten = entry.isJson
      ? builder.jsonString(node, bytes, start, end, entry.isEscaped)
      : builder.longString(node, source, start, end)
    if (!isWritten || !this.#writeMetadata(node)) return false
    builder.closeRoot()
    return true
  }

  #writeLabels(): boolean {
    const builder = this.#builder
    if (this.labels.count === 0) return true
    if (this.#labelStart !== NOT_WRITTEN) return this.#copyLabels()
    const start = builder.at
    const tapeStart = builder.tape.length
    const { labels } = this
    let previous = NO_KEY
    for (let i = 0; i < labels.count; i++) {
      const { source } = labels
      const [from, to] = [labels.nameStart(i), labels.nameEnd(i)]
      previous = this.#writePair(labels, i, previous, source, from, to)
      if (previous < 0) return false
    }
    this.#labelStart = start
    this.#labelEnd = builder.at
    this.#labelTapeStart = tapeStart
    this.#labelTapeEnd = builder.tape.length
    this.#areLabelsRepaired = builder.isRepaired
    return true
  }

  /** From the event that they were written for. */
  #copyLabels(): boolean {
    const builder = this.#builder
    const length = this.#labelEnd - this.#labelStart
    if (!builder.room(length)) return false
    const shift = builder.at - this.#labelStart
    builder.tape.copyEntries(this.#labelTapeStart, this.#labelTapeEnd, shift)
    const { out } = builder
    builder.at = copyRange(out, builder.at, out, this.#labelStart, this.#labelEnd)
    if (this.#areLabelsRepaired) builder.isRepaired = true
    return true
  }

  #writeMetadata(line: number): boolean {
    const { metadata, labels } = this
    let previous = line
    for (let i = 0; i < metadata.count; i++) {
      const { source } = metadata
      const start = metadata.nameStart(i)
      const end = metadata.nameEnd(i)
      if (isLines(metadata, i) || labels.hasName(source.bytes, start, end)) {
        const at = metadata.renamed(i, SUFFIX, labels)
        const { text } = metadata
        previous = this.#writePair(metadata, i, previous, text, at, text.length)
      } else {
        previous = this.#writePair(metadata, i, previous, source, start, end)
      }
      if (previous < 0) return false
    }
    return true
  }

  /** Writes a pair behind `previous`; returns its key, or -1 when the event is too large. */
  #writePair(
    pairs: Pairs,
    pair: number,
    previous: number,
    nameSource: ByteSource,
    nameStart: number,
    nameEnd: number,
  ): number {
    const builder = this.#builder
    const key = builder.key(ROOT, previous, this.#serial, nameSource, nameStart, nameEnd)
    if (key < 0) return -1
    const node = builder.tape.trie.canonical[key]!
    const isWritten = builder.string(
      node,
      pairs.source,
      pairs.valueStart(pair),
      pairs.valueEnd(pair),
    )
    if (!isWritten) return -1
    builder.endValue(key)
    return key
  }
}

function tooMuch(bytesMax: number): string {
  const name =
    bytesMax === OTLP_GENERATED_BYTES_MAX
      ? 'OTLP_GENERATED_BYTES_MAX'
      : `${OTLP_GENERATED_PER_BYTE_MAX} times the request, OTLP_GENERATED_PER_BYTE_MAX`
  return `events with their labels are over ${bytesMax} bytes (${name})`
}

/** Whether the name is one of the line's. */
function isLines(pairs: Pairs, pair: number): boolean {
  const start = pairs.nameStart(pair)
  const end = pairs.nameEnd(pair)
  const { bytes } = pairs.source
  return isTextAt(bytes, start, end, LOG) || isTextAt(bytes, start, end, MESSAGE)
}
