/**
 * Redaction of one event by walking its text: finds every edit that the rules ask for.
 *
 * The text, not the tape, because some of it is not on the tape: where an object outside an array
 * begins and ends, and what duplicate keys overruled. Both are in the text that is stored. Exact
 * for every event; `redact.ts` uses it for those that the tape alone cannot answer, and the
 * preview uses nothing else.
 *
 * `_raw` and `_svc_raw` hold the text that their siblings were read from. They are cleared in
 * every object that anything else was redacted in or below, whichever comes first, so such a key
 * gets an edit when it is met, which counts only once its object is closed.
 *
 * A root `log` that still holds an object as a string could not be extracted: a later `log`
 * overrules it, or it nests too deep. No path of `redact_fields` leads into it, so it is cleared as
 * a whole. In other strings that hold JSON, values are replaced in place (`inner-json.ts`).
 */
import { stringStop } from '../decode/json-scan.ts'
import { unescapeToString } from '../decode/json-string.ts'
import { type PathTrie, ROOT } from '../decode/path-trie.ts'
import type { HeldText } from '../kernel/arena-copy.ts'
import { type Edits, NULL_TEXT, REDACTED_STRING, REDACTED_TEXT } from './edits.ts'
import { logNode, mayBeObject } from './extract-log.ts'
import { BY_NAME, InnerJson } from './inner-json.ts'
import { DENYLISTED, RAW, REDACTED_WHOLE, type RedactKeys } from './redact-keys.ts'
import { NO_SECRET, SECRET_BYTES_MIN, type SecretScanner } from './secrets.ts'

/** Reasons of edits; secrets have REASON_SECRET plus the index of their kind. */
export const REASON_NONE = 0
export const REASON_DENYLISTED = 1
export const REASON_LISTED = 2
export const REASON_RAW = 3
export const REASON_SECRET = 4

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const SPACE = 0x20
const LETTER_N = 0x6e

export class EventRedactor {
  readonly edits: Edits
  readonly #keys: RedactKeys
  readonly #scanner: SecretScanner
  readonly #inner: InnerJson
  #bytes: Uint8Array = new Uint8Array(0)
  #view: DataView = new DataView(new ArrayBuffer(0))
  #trie: PathTrie | undefined
  /** Values redacted so far, clearing aside. */
  #redacted = 0
  #logNode = 0
  /** For open objects: the edits of their raw keys, and how much was redacted within those. */
  readonly #rawEdits: number[] = []
  readonly #rawOwn: number[] = []
  /** For the preview: the node of each edit. */
  readonly nodes: number[] = []

  constructor(edits: Edits, keys: RedactKeys, scanner: SecretScanner) {
    this.edits = edits
    this.#keys = keys
    this.#scanner = scanner
    this.#inner = new InnerJson(scanner)
  }

  /**
   * Fills `edits` for the event at `start`, valid JSON that was on the tape; returns how many
   * values were redacted. The scanner is at the event's start.
   */
  find(trie: PathTrie, bytes: Uint8Array, view: DataView, start: number): number {
    this.edits.clear()
    this.nodes.length = 0
    this.#rawEdits.length = 0
    this.#rawOwn.length = 0
    this.#redacted = 0
    this.#trie = trie
    this.#logNode = logNode(trie)
    this.#bytes = bytes
    this.#view = view
    this.#object(start, ROOT)
    return this.#redacted
  }

  #space(pos: number): number {
    while (this.#bytes[pos]! <= SPACE) pos++
    return pos
  }

  /** The position of the closing quote; `pos` is behind the opening one. */
  #stringEnd(pos: number): number {
    for (;;) {
      pos = stringStop(this.#view, pos)
      if (this.#bytes[pos] === QUOTE) return pos
      pos += 2
    }
  }

  /** `open` is at the brace. Returns where the object ends. */
  #object(open: number, node: number): number {
    const bytes = this.#bytes
    const redactedBefore = this.#redacted
    const rawsBefore = this.#rawEdits.length
    let pos = this.#space(open + 1)
    while (bytes[pos] !== CLOSE_OBJECT) {
      const keyStart = pos + 1
      const keyEnd = this.#stringEnd(keyStart)
      const child = this.#child(node, keyStart, keyEnd)
      pos = this.#space(keyEnd + 1)
      if (bytes[pos] === COLON) pos = this.#space(pos + 1)
      pos = this.#member(pos, child)
      pos = this.#space(pos)
      if (bytes[pos] === COMMA) pos = this.#space(pos + 1)
    }
    this.#clearRaws(rawsBefore, this.#redacted - redactedBefore)
    return pos + 1
  }

  #child(node: number, keyStart: number, keyEnd: number): number {
    const trie = this.#trie!
    const bytes = this.#bytes
    let escaped = false
    for (let i = keyStart; i < keyEnd && !escaped; i++) escaped = bytes[i] === BACKSLASH
    return trie.canonical[trie.child(node, bytes, keyStart, keyEnd, escaped)]!
  }

  #member(pos: number, node: number): number {
    const flags = this.#keys.flagsOf(node)
    if ((flags & RAW) === 0) return this.#value(pos, node, flags)
    const before = this.#redacted
    const edit = this.#edit(pos, pos, NULL_TEXT, REASON_NONE, node)
    const end = this.#value(pos, node, flags)
    this.edits.end[edit] = end
    const isString = this.#bytes[pos] === QUOTE
    if (!isString && this.#redacted > before && (flags & REDACTED_WHOLE) === 0) {
      // It is itself above what was redacted; the rest of it may hold the same text.
      this.edits.reason[edit] = REASON_RAW
    } else if (this.#bytes[pos] !== LETTER_N) {
      this.#rawEdits.push(edit)
      this.#rawOwn.push(this.#redacted - before)
    }
    return end
  }

  /** Makes the edits of an object's raw keys count where something else in it was redacted. */
  #clearRaws(from: number, redacted: number): void {
    for (let i = from; i < this.#rawEdits.length; i++) {
      if (redacted > this.#rawOwn[i]!) this.edits.reason[this.#rawEdits[i]!] = REASON_RAW
    }
    this.#rawEdits.length = from
    this.#rawOwn.length = from
  }

  /** Any value at `pos`; returns where it ends. */
  #value(pos: number, node: number, flags: number): number {
    if ((flags & REDACTED_WHOLE) !== 0) return this.#redactWhole(pos, node, flags)
    const byte = this.#bytes[pos]!
    if (byte === QUOTE) return this.#string(pos, node)
    if (byte === OPEN_OBJECT) return this.#object(pos, node)
    if (byte === OPEN_ARRAY) return this.#array(pos, node)
    return this.#scalarEnd(pos)
  }

  #redactWhole(pos: number, node: number, flags: number): number {
    const end = this.#skip(pos)
    const first = this.#bytes[pos]
    if (first === LETTER_N) return end
    const text = first === QUOTE ? REDACTED_STRING : NULL_TEXT
    const reason = (flags & DENYLISTED) !== 0 ? REASON_DENYLISTED : REASON_LISTED
    this.#edit(pos, end, text, reason, node)
    this.#redacted++
    return end
  }

  #string(pos: number, node: number): number {
    const start = pos + 1
    const end = this.#stringEnd(start)
    if (node === this.#logNode && isObjectText(this.#bytes, start, end)) {
      this.#edit(pos, end + 1, NULL_TEXT, REASON_RAW, node)
      this.#redacted++
      return end + 1
    }
    const kind = scanString(this.#scanner, this.#view, start, end)
    const isInner = this.#inner.find(this.#bytes, this.#view, start, end, kind)
    if (isInner && this.#inner.edits.count === 0) return end + 1
    if (isInner && !(node === this.#logNode && this.#becomesObject())) {
      this.#addInner(node)
    } else {
      const reason = kind === NO_SECRET ? REASON_DENYLISTED : REASON_SECRET + kind
      this.#edit(pos, end + 1, REDACTED_STRING, reason, node)
    }
    this.#redacted++
    return end + 1
  }

  /**
   * Whether a root `log` is broken JSON only where it is redacted. It goes as a whole then, as it
   * would be another event when it is sent once more: it would be extracted.
   */
  #becomesObject(): boolean {
    const text = this.#inner.redacted()
    return isObjectText(text, 0, text.length)
  }

  #addInner(node: number): void {
    const { edits } = this.#inner
    for (let i = 0; i < edits.count; i++) {
      const kind = edits.kind[i]!
      const reason = kind === BY_NAME ? REASON_DENYLISTED : REASON_SECRET + kind
      const text = edits.isString[i]! ? REDACTED_TEXT : NULL_TEXT
      this.#edit(edits.start[i]!, edits.end[i]!, text, reason, node)
    }
  }

  #array(open: number, node: number): number {
    const bytes = this.#bytes
    let pos = this.#space(open + 1)
    if (bytes[pos] === CLOSE_ARRAY) return pos + 1
    const element = this.#trie!.elementOf(node)
    const flags = this.#keys.flagsOf(element)
    for (;;) {
      pos = this.#space(this.#value(pos, element, flags))
      if (bytes[pos] === CLOSE_ARRAY) return pos + 1
      pos = this.#space(pos + 1)
    }
  }

  /** The end of a number or a word. */
  #scalarEnd(pos: number): number {
    const bytes = this.#bytes
    for (;;) {
      const byte = bytes[pos]!
      if (byte <= SPACE || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY)
        return pos
      pos++
    }
  }

  /** The end of any value, without a look at what is in it. */
  #skip(pos: number): number {
    const bytes = this.#bytes
    if (bytes[pos] === QUOTE) return this.#stringEnd(pos + 1) + 1
    if (bytes[pos] !== OPEN_OBJECT && bytes[pos] !== OPEN_ARRAY) return this.#scalarEnd(pos)
    let depth = 0
    for (;;) {
      const byte = bytes[pos]!
      if (byte === QUOTE) {
        pos = this.#stringEnd(pos + 1)
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        depth++
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        depth--
        if (depth === 0) return pos + 1
      }
      pos++
    }
  }

  #edit(start: number, end: number, text: HeldText, reason: number, node: number): number {
    this.nodes.push(node)
    return this.edits.add(start, end, text, reason)
  }
}

/** Whether a JSON string holds an object, as `JSON.parse` judges it. Not for hot code. */
function isObjectText(bytes: Uint8Array, start: number, end: number): boolean {
  if (!mayBeObject(bytes, start, end)) return false
  try {
    const value: unknown = JSON.parse(unescapeToString(bytes, start, end))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false // Broken JSON is text, and is scanned as such.
  }
}

/** Scans the string `start`..`end` as its spelling asks for. */
export function scanString(
  scanner: SecretScanner,
  view: DataView,
  start: number,
  end: number,
): number {
  if (end - start < SECRET_BYTES_MIN) return NO_SECRET
  const isPlain = stringStop(view, start) === end
  return isPlain ? scanner.scan(start, end) : scanner.scanEscaped(start, end)
}
