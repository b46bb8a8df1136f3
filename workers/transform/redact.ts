/**
 * Redaction of a batch. The tape tells which events anything is to be redacted in, and where, for
 * most of them; events that it cannot answer for are walked by their text (`redact-event.ts`):
 *
 * - an object under a redacted key: the tape does not say where it begins
 * - anything inside an array, whose entry says which types its elements have
 * - `_raw` or `_svc_raw` in an event with something redacted
 * - duplicate keys: what was overruled is in the text, and its entries lost their types
 * - a root `log` that may hold an object which could not be extracted
 * - something within a string: the rest of it stays
 */
import type { DecodedEvents } from '../decode/decoded-events.ts'
import type { JsonTape } from '../decode/json-tape.ts'
import type { PathTrie } from '../decode/path-trie.ts'
import { ARRAY, DEAD, ENTRY, ESCAPED, EXTENSION, NULL, STRING } from '../decode/tape-types.ts'
import { Edits, NULL_TEXT, REDACTED_STRING } from './edits.ts'
import type { EventRewriter } from './event-rewriter.ts'
import { logNode, mayBeObject } from './extract-log.ts'
import { InnerJson, mayHoldKeys } from './inner-json.ts'
import { EventRedactor, REASON_DENYLISTED, REASON_SECRET } from './redact-event.ts'
import { RAW, REDACTED_WHOLE, type RedactKeys, WITHIN_RAW, WITHIN_REDACTED } from './redact-keys.ts'
import { NO_SECRET, SECRET_BYTES_MIN, type SecretScanner } from './secrets.ts'
import { nextSuspect, type SuspectKeys } from './suspects.ts'

const NOTHING = 0
/** `#edits` has it all. */
const SPLICE = 1
/** The text must be walked. */
const WALK = 2
/** Flags of keys that need a closer look. */
const SPECIAL = REDACTED_WHOLE | WITHIN_REDACTED | RAW | WITHIN_RAW

export class Redaction {
  readonly #keys: RedactKeys
  readonly #scanner: SecretScanner
  readonly #edits = new Edits()
  readonly #redactor: EventRedactor
  readonly #inner: InnerJson
  #logNode = 0

  constructor(keys: RedactKeys, scanner: SecretScanner) {
    this.#keys = keys
    this.#scanner = scanner
    this.#redactor = new EventRedactor(new Edits(), keys, scanner)
    this.#inner = new InnerJson(scanner)
  }

  /**
   * Redacts the events whose bytes begin in `range`, where they stand in order. Returns how many
   * were changed.
   */
  run(
    tape: JsonTape,
    events: DecodedEvents,
    rewriter: EventRewriter,
    range: { readonly start: number; readonly end: number },
  ): number {
    const scanner = this.#scanner
    const redactor = this.#redactor
    const suspects = suspectKeys(this.#keys, tape.trie)
    this.#logNode = suspects.logNode
    let changed = 0
    for (let i = 0; i < events.count; i++) {
      i = nextSuspect(tape, events, rewriter.bytes, i, suspects)
      if (i === events.count) break
      const start = events.start[i]!
      if (start < range.start || start >= range.end) continue
      scanner.mark()
      const { bytes } = rewriter
      const way = this.#judge(tape, bytes, events.tapeStart[i]!, events.tapeEnd[i]!)
      if (way === NOTHING) continue
      if (way === SPLICE) {
        rewriter.splice(i, this.#edits)
      } else {
        scanner.rewind()
        const found = redactor.find(tape.trie, rewriter.bytes, rewriter.view, start)
        if (found === 0) continue
        rewriter.rewrite(i, redactor.edits)
      }
      changed++
      scanner.moved(rewriter.written)
    }
    return changed
  }

  /** Looks at each entry of an event: what is to be done with it? Hot. */
  #judge(tape: JsonTape, bytes: Uint8Array, tapeStart: number, tapeEnd: number): number {
    const { entries } = tape
    const keys = this.#keys
    const edits = this.#edits
    edits.clear()
    let arrayEnd = 0
    let hasRaw = false
    let isInArray = false
    for (let at = tapeStart; at < tapeEnd; at += ENTRY) {
      const type = entries[at + 1]!
      if (type === EXTENSION) continue
      if (type === DEAD) return WALK
      const flags = keys.flagsOf(entries[at]!)
      if ((flags & SPECIAL) !== 0) {
        if ((flags & WITHIN_REDACTED) !== 0) return WALK
        hasRaw ||= (flags & (RAW | WITHIN_RAW)) !== 0
        if ((flags & REDACTED_WHOLE) !== 0) {
          if (at < arrayEnd) return WALK
          if (type !== NULL) this.#replace(entries, at, REASON_DENYLISTED)
          if (type === ARRAY) at = entries[at + 7]! - ENTRY
          continue
        }
      }
      if (type === ARRAY && at >= arrayEnd) arrayEnd = entries[at + 7]!
      if (type !== STRING && type !== ESCAPED) continue
      if (entries[at] === this.#logNode) {
        if (mayBeObject(bytes, entries[at + 2]!, entries[at + 3]!)) return WALK
      }
      const [start, end] = [entries[at + 2]!, entries[at + 3]!]
      const kind = this.#scan(type, start, end)
      if (kind === NO_SECRET) {
        if (this.#inner.holdsSecretName(bytes, start, end)) return WALK
        continue
      }
      if (mayHoldKeys(bytes, start, end)) return WALK
      isInArray ||= at < arrayEnd
      this.#replace(entries, at, REASON_SECRET + kind)
    }
    if (edits.count === 0) return NOTHING
    return hasRaw || isInArray ? WALK : SPLICE
  }

  #scan(type: number, start: number, end: number): number {
    if (end - start < SECRET_BYTES_MIN) return NO_SECRET
    return type === STRING ? this.#scanner.scan(start, end) : this.#scanner.scanEscaped(start, end)
  }

  #replace(entries: Int32Array, at: number, reason: number): void {
    const type = entries[at + 1]!
    const start = entries[at + 2]!
    const end = entries[at + 3]!
    const isString = type === STRING || type === ESCAPED
    if (isString) this.#edits.add(start - 1, end + 1, REDACTED_STRING, reason, at)
    else this.#edits.add(start, end, NULL_TEXT, reason, at)
  }
}

/** What `nextSuspect` looks for. */
export function suspectKeys(keys: RedactKeys, trie: PathTrie): SuspectKeys {
  return { keys, special: SPECIAL, logNode: logNode(trie) }
}
