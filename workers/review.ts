/**
 * Says what redaction would change in stored events: by the extraction that was done at ingest and
 * the keys and the scanner that ingest uses. Changes nothing and keeps nothing.
 *
 *   stored payloads --decode--> events --redaction--> counts, masked samples, event ids
 *
 * Events that cannot have anything to redact are passed over by the kernel that ingest has for it;
 * the others are walked by their text, which is exact for every event.
 */
import {
  FIELD_PATH_BYTES_MAX,
  MATCH_COST_MAX,
  REVIEW_EVENT_IDS_MAX,
  REVIEW_PATHS_HELD_MAX,
  REVIEW_SAMPLED_MAX,
  REVIEW_SAMPLES_MAX,
} from '../src/limits.ts'
import type { DamagedRead, SegmentRead } from '../src/model/batch/segment-read.ts'
import type {
  MaskedSample,
  RedactionReason,
  ReviewedChange,
  ReviewedEvents,
  ReviewRequest,
} from '../src/model/redact/redaction.ts'
import type { Evaluator } from './evaluate/evaluator.ts'
import { Evaluators } from './evaluate/evaluators.ts'
import { EventCursor } from './evaluate/event-cursor.ts'
import { WorkSpentError } from './evaluate/work.ts'
import { PayloadDecoder } from './segment/payload-decoder.ts'
import { JsonTape } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'
import { maskedSample } from './transform/redact/masked-sample.ts'
import { suspectKeys } from './transform/redact/redact.ts'
import { EventRedactor } from './transform/redact/redact-event.ts'
import { RedactKeys } from './transform/redact/redact-keys.ts'
import { forEachChange, reasonName } from './transform/redact/redaction-changes.ts'
import { nextSuspect } from './transform/redact/suspects.ts'
import { Edits } from './transform/rewrite/edits.ts'
import { SecretScanner } from './transform/secrets/secrets.ts'

/** All values at one path that would change for one reason. */
interface Row {
  readonly path: string
  readonly reason: RedactionReason
  events: number
  values: number
  readonly samples: Map<string, MaskedSample>
  readonly eventIds: string[]
  /** The event that was counted last. */
  lastEvent: number
  /** The newest ordinals of the segment under way. */
  readonly ordinals: number[]
}

export class ReviewPipeline {
  readonly #stored: PayloadDecoder
  readonly #scanner = new SecretScanner()
  readonly #evaluators = new Evaluators()
  readonly #cursor = new EventCursor()
  /** Of the rules asked for last: reviews come as many tasks with the same ones. */
  #keys = new RedactKeys([])
  #redactor = new EventRedactor(new Edits(), this.#keys, this.#scanner)
  #redactFields = ''

  #rows = new Map<string, Row>()
  /** By node and reason, while the trie keeps its nodes. */
  #rowsByNode = new Map<number, Row | undefined>()
  #generation = -1
  #touched: Row[] = []
  #events = 0
  #matched = 0
  #changed = 0
  #undecided = 0
  #bytes = 0
  #valuesLeft = 0

  constructor(stored = new PayloadDecoder(new JsonTape(new PathTrie()))) {
    this.#stored = stored
  }

  run({ reads, redactFields, query }: ReviewRequest): ReviewedEvents {
    this.#begin(redactFields)
    const damaged: DamagedRead[] = []
    const evaluator = query && this.#evaluators.of(query.text, query.textFields)
    if (evaluator !== undefined) evaluator.work.left = MATCH_COST_MAX
    for (const [index, read] of reads.entries()) {
      const reason = this.#stored.decode(read.payload)
      if (reason === undefined) this.#review(read, evaluator)
      else damaged.push({ index, reason })
    }
    this.#stored.reset()
    this.#evaluators.trim()
    const changes = [...this.#rows.values()].map(toChange)
    this.#rows = new Map()
    this.#rowsByNode = new Map()
    return {
      events: this.#events,
      matched: this.#matched,
      changed: this.#changed,
      undecided: this.#undecided,
      bytes: this.#bytes,
      changes,
      valuesLeft: this.#valuesLeft,
      damaged,
    }
  }

  #begin(redactFields: readonly string[]): void {
    this.#stored.reset()
    this.#events = 0
    this.#matched = 0
    this.#changed = 0
    this.#undecided = 0
    this.#bytes = 0
    this.#valuesLeft = 0
    const identity = redactFields.join('\0')
    if (identity === this.#redactFields) return
    this.#keys.dispose()
    this.#keys = new RedactKeys(redactFields)
    this.#redactor = new EventRedactor(new Edits(), this.#keys, this.#scanner)
    this.#redactFields = identity
  }

  /** Looks at the events of one segment, which are `from`..`to` of the decoded payload. */
  #review(read: SegmentRead, evaluator: Evaluator | undefined): void {
    const { tape, events, bytes } = this.#stored
    const { trie } = tape
    const first = read.firstEvent ?? 0
    const from = first + Math.max(0, read.fromOrdinal)
    const to = Math.min(events.count, first + read.toOrdinal)
    if (trie.generation !== this.#generation) this.#rowsByNode.clear()
    this.#generation = trie.generation
    this.#keys.begin(trie)
    this.#scanner.begin(bytes)
    this.#cursor.begin(this.#stored)
    this.#cursor.origin = { ...read, firstEvent: first }
    evaluator?.begin(this.#cursor)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const suspects = suspectKeys(this.#keys, trie)
    let suspect = from
    for (let i = from; i < to; i++) {
      const start = events.start[i]!
      this.#events++
      this.#bytes += events.end[i]! - start
      if (evaluator !== undefined && !this.#matches(evaluator, i)) continue
      this.#matched++
      if (suspect <= i) suspect = nextSuspect(tape, events, bytes, i, suspects, to)
      if (suspect > i) continue
      suspect = i + 1
      this.#redactor.find(trie, bytes, view, start)
      this.#count(start, i - first)
    }
    for (const row of this.#touched) closeSegment(row, read)
    this.#touched = []
  }

  /** Behind what the task may cost no event matches any more; they are counted. */
  #matches(evaluator: Evaluator, event: number): boolean {
    this.#cursor.moveTo(event)
    try {
      return evaluator.matches(this.#cursor)
    } catch (error) {
      if (!(error instanceof WorkSpentError)) throw error
      this.#undecided++
      return false
    }
  }

  /** Counts what the redactor found in the event at `start`. */
  #count(start: number, ordinal: number): void {
    const { edits, nodes } = this.#redactor
    const { bytes } = this.#stored
    let isChanged = false
    forEachChange(this.#redactor, start, (edit) => {
      const [from, to] = [edits.start[edit]!, edits.end[edit]!]
      const text = edits.text[edit]!
      // It is what redaction would write: a producer has masked it, or ingest did.
      if (isSame(bytes.subarray(from, to), text.bytes, text.length)) return
      isChanged = true
      const row = this.#rowOf(nodes[edit]!, edits.reason[edit]!)
      if (row === undefined) {
        this.#valuesLeft++
        return
      }
      row.values++
      if (row.lastEvent !== this.#events) this.#countEvent(row, ordinal)
      if (row.values > REVIEW_SAMPLED_MAX || row.samples.size === REVIEW_SAMPLES_MAX) return
      const sample = maskedSample(bytes, from, to)
      row.samples.set(JSON.stringify(sample), sample)
    })
    if (isChanged) this.#changed++
  }

  #countEvent(row: Row, ordinal: number): void {
    row.lastEvent = this.#events
    row.events++
    if (row.eventIds.length === REVIEW_EVENT_IDS_MAX) return
    if (row.ordinals.length === 0) this.#touched.push(row)
    if (row.ordinals.length === REVIEW_EVENT_IDS_MAX) row.ordinals.shift()
    row.ordinals.push(ordinal)
  }

  /** Undefined for a path past the bound. */
  #rowOf(node: number, reason: number): Row | undefined {
    const id = node * 256 + reason
    if (this.#rowsByNode.has(id)) return this.#rowsByNode.get(id)
    const path = shownPath(this.#stored.tape.trie.displayPath(node))
    const name = reasonName(reason)
    const key = `${name} ${path}`
    let row = this.#rows.get(key)
    if (row === undefined && this.#rows.size < REVIEW_PATHS_HELD_MAX) {
      row = createRow(path, name)
      this.#rows.set(key, row)
    }
    this.#rowsByNode.set(id, row)
    return row
  }
}

/** Its newest events come last. */
function closeSegment(row: Row, { segmentId }: SegmentRead): void {
  while (row.ordinals.length > 0 && row.eventIds.length < REVIEW_EVENT_IDS_MAX) {
    row.eventIds.push(`${segmentId}-${row.ordinals.pop()}`)
  }
  row.ordinals.length = 0
}

function createRow(path: string, reason: RedactionReason): Row {
  const counts = { events: 0, values: 0, lastEvent: -1 }
  return { path, reason, ...counts, samples: new Map(), eventIds: [], ordinals: [] }
}

function toChange({ path, reason, events, values, samples, eventIds }: Row): ReviewedChange {
  return { path, reason, events, values, samples: [...samples.values()], eventIds }
}

/** As paths are learned, they have a bound; a longer one is cut and counts with those alike. */
function shownPath(path: string): string {
  if (path.length <= FIELD_PATH_BYTES_MAX / 3) return path
  const bytes = Buffer.from(path)
  if (bytes.length <= FIELD_PATH_BYTES_MAX) return path
  const cut = bytes.subarray(0, FIELD_PATH_BYTES_MAX - Buffer.byteLength('…')).toString()
  return `${cut.replace(/\ufffd+$/, '')}…`
}

function isSame(a: Uint8Array, b: Uint8Array, length: number): boolean {
  if (a.length !== length) return false
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false
  return true
}
