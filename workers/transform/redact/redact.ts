/**
 * Redaction of a batch. For most events the tape tells whether anything is to be redacted, and
 * where. Changes within a string or an array are edits too, but the tape cannot follow them: the
 * new text is parsed. Events for which the tape is not enough are walked by their text
 * (`redact-event.ts`):
 *
 * - an object under a redacted key: the tape does not say where it begins
 * - a name of a secret that is itself a value
 * - `_raw` or `_svc_raw` in an event with something redacted
 * - duplicate keys: the overruled values are still in the text, and their entries lost their types
 * - a root `log` that may hold an object which could not be extracted
 */
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import { unescapeToString } from '../../tape/json-string.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import type { PathTrie } from '../../tape/path-trie.ts'
import { ARRAY, DEAD, ENTRY, ESCAPED, EXTENSION, NULL, STRING } from '../../tape/tape-types.ts'
import { isListedName, mayName, pairKind } from '../names/listed-names.ts'
import { NO_NAME } from '../names/secret-names.ts'
import { isSecretString, isSecretValue } from '../names/secret-values.ts'
import {
  Edits,
  NULL_TEXT,
  REASON_DENYLISTED,
  REASON_SECRET,
  REDACTED_STRING,
} from '../rewrite/edits.ts'
import type { EventRewriter } from '../rewrite/event-rewriter.ts'
import { logNode, mayBeObject } from '../rewrite/extract-log.ts'
import { PRIVATE_KEY } from '../secrets/secret-matcher.ts'
import { NO_SECRET, SECRET_BYTES_MIN, type SecretScanner } from '../secrets/secrets.ts'
import { InnerJson, mayHoldKeys } from './inner-json.ts'
import { beginsKey, KEY_LINES_MAX, keyLineEntry } from './key-lines.ts'
import { EventRedactor } from './redact-event.ts'
import {
  KEY,
  LISTED,
  NAMES,
  RAW,
  REDACTED_WHOLE,
  type RedactKeys,
  SECRET_STRINGS,
  WITHIN_RAW,
  WITHIN_REDACTED,
} from './redact-keys.ts'
import { mayBeSecret, nextSuspect, type SuspectKeys } from './suspects.ts'

const NO_NODE = -1
const NOTHING = 0
/** `#edits` has it all. */
const SPLICE = 1
/** The same, but the tape cannot follow: the new text is to be parsed. */
const REWRITE = 2
/** The text must be walked. */
const WALK = 3
/** Flags of keys that need a closer look. */
const SPECIAL = REDACTED_WHOLE | WITHIN_REDACTED | RAW | WITHIN_RAW
/** Flags of keys whose strings are judged by a name, or as one. */
const BY_NAME = SECRET_STRINGS | NAMES

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
      const way = this.#wayOf(tape, events, rewriter, i)
      if (way === NOTHING) continue
      const keyNode = way === SPLICE ? this.#keyBegun(tape, events, rewriter, i) : NO_NODE
      if (way === SPLICE) {
        rewriter.splice(i, this.#edits)
      } else if (way === REWRITE) {
        rewriter.rewrite(i, this.#edits)
      } else {
        const found = redactor.find(tape.trie, rewriter.bytes, rewriter.view, start)
        if (found === 0) continue
        rewriter.rewrite(i, redactor.edits)
      }
      changed++
      scanner.moved(rewriter.written)
      if (keyNode === NO_NODE) continue
      const lines = this.#redactKeyLines(tape, events, rewriter, i + 1, keyNode)
      changed += lines
      i += lines
    }
    return changed
  }

  /** The node of the string in which a private key begins that later events go on with. */
  #keyBegun(
    { entries }: JsonTape,
    events: DecodedEvents,
    { bytes }: EventRewriter,
    index: number,
  ): number {
    const { count, reason, start, end } = this.#edits
    if (count !== 1 || reason[0] !== REASON_SECRET + PRIVATE_KEY) return NO_NODE
    if (!beginsKey(bytes, start[0]!, end[0]!)) return NO_NODE
    for (let at = events.tapeStart[index]!; at < events.tapeEnd[index]!; at += ENTRY) {
      if (entries[at + 2] === start[0]! + 1) return entries[at]!
    }
    return NO_NODE
  }

  /** Redacts the lines of a key from event `first` on; returns how many there are. */
  #redactKeyLines(
    tape: JsonTape,
    events: DecodedEvents,
    rewriter: EventRewriter,
    first: number,
    node: number,
  ): number {
    let lines = 0
    for (; lines < KEY_LINES_MAX; lines++) {
      const at = keyLineEntry(tape, events, rewriter.bytes, first + lines, node)
      if (at < 0) break
      this.#edits.clear()
      this.#replace(tape.entries, at, REASON_SECRET + PRIVATE_KEY)
      rewriter.splice(first + lines, this.#edits)
      this.#scanner.moved(rewriter.written)
    }
    return lines
  }

  #wayOf(tape: JsonTape, events: DecodedEvents, rewriter: EventRewriter, index: number): number {
    const from = events.tapeStart[index]!
    const to = events.tapeEnd[index]!
    const { revision } = this.#keys
    const way = this.#judge(tape, rewriter, from, to)
    if (this.#keys.revision === revision || way === WALK) return way
    // This value is why the names before it have to be checked.
    return this.#judge(tape, rewriter, from, to)
  }

  /** Looks at each entry of an event: what is to be done with it? Hot. */
  #judge(tape: JsonTape, rewriter: EventRewriter, tapeStart: number, tapeEnd: number): number {
    const { entries } = tape
    const { bytes, view } = rewriter
    const keys = this.#keys
    const edits = this.#edits
    edits.clear()
    let arrayEnd = 0
    let hasRaw = false
    let isSplice = true
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
          if (this.#isWhole(bytes, entries, at, flags)) {
            this.#replace(entries, at, REASON_DENYLISTED)
            if (type === ARRAY) at = entries[at + 7]! - ENTRY
            continue
          }
        }
      }
      if (type === ARRAY && at >= arrayEnd) arrayEnd = entries[at + 7]!
      if (type !== STRING && type !== ESCAPED) continue
      if (entries[at] === this.#logNode) {
        if (mayBeObject(bytes, entries[at + 2]!, entries[at + 3]!)) return WALK
      }
      const [start, end] = [entries[at + 2]!, entries[at + 3]!]
      if ((flags & BY_NAME) !== 0) {
        if (this.#isName(bytes, entries, at, flags)) return WALK
        if (this.#isNamedSecret(bytes, entries, at, flags)) {
          this.#replace(entries, at, REASON_DENYLISTED)
          isSplice &&= at >= arrayEnd
          continue
        }
      }
      const kind = this.#scan(type, bytes, start, end)
      if (kind !== NO_SECRET && !mayHoldKeys(bytes, start, end)) {
        isSplice &&= at >= arrayEnd
        this.#replace(entries, at, REASON_SECRET + kind)
      } else if (!this.#inner.find(bytes, view, start, end, kind)) {
        isSplice &&= at >= arrayEnd
        this.#replace(entries, at, REASON_SECRET + kind)
      } else if (this.#inner.edits.count > 0) {
        isSplice = false
        this.#addInner()
      }
    }
    if (edits.count === 0) return NOTHING
    if (hasRaw) return WALK
    return isSplice ? SPLICE : REWRITE
  }

  /** Whether the value of a key that is redacted as a whole is. */
  #isWhole(bytes: Uint8Array, entries: Int32Array, at: number, flags: number): boolean {
    const type = entries[at + 1]!
    if ((flags & LISTED) !== 0) return type !== NULL
    const kind = this.#keys.kindOf(entries[at]!)
    return isSecretValue(kind, type, bytes, entries[at + 2]!, entries[at + 3]!)
  }

  #isNamedSecret(bytes: Uint8Array, entries: Int32Array, at: number, flags: number): boolean {
    if ((flags & SECRET_STRINGS) === 0) return false
    return isSecretString(
      this.#keys.kindOf(entries[at]!),
      bytes,
      entries[at + 2]!,
      entries[at + 3]!,
    )
  }

  /** Whether a string names a secret that is beside it. */
  #isName(bytes: Uint8Array, entries: Int32Array, at: number, flags: number): boolean {
    if ((flags & NAMES) === 0) return false
    const start = entries[at + 2]!
    const end = entries[at + 3]!
    const isInList = (flags & KEY) === 0
    if (!mayName(bytes, start, end, entries[at + 1] === ESCAPED, isInList)) return false
    const text = unescapeToString(bytes, start, end)
    return isInList ? isListedName(text) : pairKind(text) !== NO_NAME
  }

  #scan(type: number, bytes: Uint8Array, start: number, end: number): number {
    if (end - start < SECRET_BYTES_MIN) return NO_SECRET
    // The kernel passed over most strings of this event; it is asked again which.
    if (!mayBeSecret(bytes, start, end, type === ESCAPED)) return NO_SECRET
    return type === STRING ? this.#scanner.scan(start, end) : this.#scanner.scanEscaped(start, end)
  }

  #addInner(): void {
    const inner = this.#inner.edits
    for (let i = 0; i < inner.count; i++) {
      const reason = inner.reasonOf(i)
      this.#edits.add(inner.start[i]!, inner.end[i]!, inner.textOf(i), reason)
    }
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
