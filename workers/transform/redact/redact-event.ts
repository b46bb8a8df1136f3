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
 * So does the value of a pair (`{"name":"Authorization","value":…}`): its name may come after it.
 *
 * A root `log` that still holds an object as a string could not be extracted: a later `log`
 * overrules it, or it nests too deep. No path of `redact_fields` leads into it, so it is cleared as
 * a whole. In other strings that hold JSON, values are replaced in place (`inner-json.ts`).
 */

import type { ArenaText } from '../../kernel/arena-copy.ts'
import { stringStop } from '../../tape/json-scan.ts'
import { unescapeToString } from '../../tape/json-string.ts'
import { type PathTrie, ROOT } from '../../tape/path-trie.ts'
import { NULL } from '../../tape/tape-types.ts'
import { IN_PAIR, IS_SECRET, ListNames, mayName, pairKind } from '../names/listed-names.ts'
import { NO_NAME, SECRET_NAME } from '../names/secret-names.ts'
import { isSecretString, isSecretValue } from '../names/secret-values.ts'
import {
  type Edits,
  NULL_TEXT,
  REASON_DENYLISTED,
  REASON_LISTED,
  REASON_NONE,
  REASON_RAW,
  REASON_SECRET,
  REDACTED_STRING,
} from '../rewrite/edits.ts'
import { logNode, mayBeObject } from '../rewrite/extract-log.ts'
import { NO_SECRET, SECRET_BYTES_MIN, type SecretScanner } from '../secrets/secrets.ts'
import { InnerJson } from './inner-json.ts'
import { scalarEnd, stringEnd, typeAt, valueEnd } from './json-text.ts'
import { clearSamePlaces, ElementScopes } from './raw-places.ts'
import {
  DENYLISTED,
  HEADER_LIST,
  LISTED,
  PAIR_NAME,
  PAIR_VALUE,
  RAW,
  REDACTED_WHOLE,
  type RedactKeys,
  SECRET_STRINGS,
} from './redact-keys.ts'

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
  /** Edits of values that count when the name beside them turns out to be a secret's. */
  readonly #pairEdits: number[] = []
  /** All raw keys of the event, and how much was redacted within each. */
  readonly #raws: number[] = []
  readonly #rawsWithin: number[] = []
  readonly #scopes = new ElementScopes()
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
   * values were redacted.
   */
  find(trie: PathTrie, bytes: Uint8Array, view: DataView, start: number): number {
    this.edits.clear()
    this.nodes.length = 0
    this.#rawEdits.length = 0
    this.#rawOwn.length = 0
    this.#pairEdits.length = 0
    this.#raws.length = 0
    this.#rawsWithin.length = 0
    this.#scopes.clear()
    this.#redacted = 0
    this.#trie = trie
    this.#logNode = logNode(trie)
    this.#bytes = bytes
    this.#view = view
    this.#object(start, ROOT)
    if (this.#redacted > 0 && this.#raws.length > 0) {
      const raws = { edits: this.#raws, own: this.#rawsWithin }
      clearSamePlaces(trie, this.edits, { nodes: this.nodes, scopes: this.#scopes }, raws)
    }
    return this.#redacted
  }

  #space(pos: number): number {
    while (this.#bytes[pos]! <= SPACE) pos++
    return pos
  }

  /** The position of the closing quote; `pos` is after the opening one. */
  #stringEnd(pos: number): number {
    return stringEnd(this.#bytes, this.#view, pos)
  }

  /** `open` is at the brace. Returns where the object ends. */
  #object(open: number, node: number): number {
    const bytes = this.#bytes
    const redactedBefore = this.#redacted
    const rawsBefore = this.#rawEdits.length
    const pairsBefore = this.#pairEdits.length
    let nameKind = NO_NAME
    let pos = this.#space(open + 1)
    while (bytes[pos] !== CLOSE_OBJECT) {
      const keyStart = pos + 1
      const keyEnd = this.#stringEnd(keyStart)
      const child = this.#child(node, keyStart, keyEnd)
      pos = this.#space(keyEnd + 1)
      if (bytes[pos] === COLON) pos = this.#space(pos + 1)
      const flags = this.#keys.flagsOf(child)
      const roles = this.#keys.rolesOf(child)
      if ((roles & PAIR_NAME) !== 0) nameKind = Math.max(nameKind, this.#pairKind(pos))
      const edit = (roles & PAIR_VALUE) === 0 ? -1 : this.#openPair(pos, child)
      pos = this.#member(pos, child, flags)
      if (edit >= 0) this.edits.end[edit] = pos
      pos = this.#space(pos)
      if (bytes[pos] === COMMA) pos = this.#space(pos + 1)
    }
    if (this.#pairEdits.length > pairsBefore) this.#closePairs(pairsBefore, nameKind)
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

  /** What the name of a pair at `pos` says, if it is a string. */
  #pairKind(pos: number): number {
    if (this.#bytes[pos] !== QUOTE) return NO_NAME
    const text = this.#nameAt(pos + 1, this.#stringEnd(pos + 1), false)
    return text === undefined ? NO_NAME : pairKind(text)
  }

  /** The string `start`..`end`, if it can be a name. */
  #nameAt(start: number, end: number, isInList: boolean): string | undefined {
    const isEscaped = stringStop(this.#view, start) !== end
    if (!mayName(this.#bytes, start, end, isEscaped, isInList)) return undefined
    return unescapeToString(this.#bytes, start, end)
  }

  #openPair(pos: number, node: number): number {
    const edit = this.#edit(pos, pos, NULL_TEXT, REASON_NONE, node)
    this.#pairEdits.push(edit)
    return edit
  }

  /** Makes the edits of an object's values count where the name beside them says so. */
  #closePairs(from: number, kind: number): void {
    for (let i = from; kind !== NO_NAME && i < this.#pairEdits.length; i++) {
      const edit = this.#pairEdits[i]!
      const start = this.edits.start[edit]!
      if (!this.#isPairValue(kind, start, this.edits.end[edit]!)) continue
      if (this.#bytes[start] === QUOTE) this.edits.text[edit] = REDACTED_STRING
      this.edits.reason[edit] = REASON_DENYLISTED
      this.#redacted++
    }
    this.#pairEdits.length = from
  }

  /** Numbers beside a name are counts: `{"name":"invalid_token","value":12}`. */
  #isPairValue(kind: number, start: number, end: number): boolean {
    const byte = this.#bytes[start]
    if (byte === QUOTE) return isSecretString(kind, this.#bytes, start + 1, end - 1)
    return kind >= SECRET_NAME && (byte === OPEN_OBJECT || byte === OPEN_ARRAY)
  }

  #member(pos: number, node: number, flags: number): number {
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
      this.#raws.push(edit)
      this.#rawsWithin.push(this.#redacted - before)
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
    if ((flags & REDACTED_WHOLE) !== 0) {
      const end = valueEnd(this.#bytes, this.#view, pos)
      if (this.#isWhole(pos, end, node, flags)) return this.#redactWhole(pos, end, node, flags)
    }
    const byte = this.#bytes[pos]!
    if (byte === QUOTE) return this.#string(pos, node, flags)
    if (byte === OPEN_OBJECT) return this.#object(pos, node)
    if (byte === OPEN_ARRAY) return this.#array(pos, node)
    return scalarEnd(this.#bytes, pos)
  }

  #isWhole(pos: number, end: number, node: number, flags: number): boolean {
    const type = typeAt(this.#bytes[pos]!)
    if ((flags & LISTED) !== 0) return type !== NULL
    return isSecretValue(this.#keys.kindOf(node), type, this.#bytes, pos + 1, end - 1)
  }

  #redactWhole(pos: number, end: number, node: number, flags: number): number {
    const text = this.#bytes[pos] === QUOTE ? REDACTED_STRING : NULL_TEXT
    const reason = (flags & DENYLISTED) !== 0 ? REASON_DENYLISTED : REASON_LISTED
    return this.#redact(pos, end, text, reason, node)
  }

  #redact(pos: number, end: number, text: ArenaText, reason: number, node: number): number {
    this.#edit(pos, end, text, reason, node)
    this.#redacted++
    return end
  }

  #string(pos: number, node: number, flags: number): number {
    const start = pos + 1
    const end = this.#stringEnd(start)
    if ((flags & SECRET_STRINGS) !== 0) {
      const isSecret = isSecretString(this.#keys.kindOf(node), this.#bytes, start, end)
      if (isSecret) return this.#redact(pos, end + 1, REDACTED_STRING, REASON_DENYLISTED, node)
    }
    if (node === this.#logNode && isObjectText(this.#bytes, start, end)) {
      return this.#redact(pos, end + 1, NULL_TEXT, REASON_RAW, node)
    }
    const kind = scanString(this.#scanner, this.#view, start, end)
    const isInner = this.#inner.find(this.#bytes, this.#view, start, end, kind)
    if (isInner && this.#inner.edits.count === 0) return end + 1
    if (isInner && !(node === this.#logNode && this.#becomesObject())) {
      this.#addInner(node)
      return end + 1
    }
    const reason = kind === NO_SECRET ? REASON_DENYLISTED : REASON_SECRET + kind
    return this.#redact(pos, end + 1, REDACTED_STRING, reason, node)
  }

  /**
   * Whether a root `log` is broken JSON only where it is redacted. Then all of it is replaced, as
   * otherwise it would become another event when it is sent again: it would be extracted.
   */
  #becomesObject(): boolean {
    const text = this.#inner.redacted()
    return isObjectText(text, 0, text.length)
  }

  #addInner(node: number): void {
    const { edits } = this.#inner
    for (let i = 0; i < edits.count; i++) {
      const reason = edits.reasonOf(i)
      this.#redact(edits.start[i]!, edits.end[i]!, edits.textOf(i), reason, node)
    }
  }

  #array(open: number, node: number): number {
    const bytes = this.#bytes
    let pos = this.#space(open + 1)
    if (bytes[pos] === CLOSE_ARRAY) return pos + 1
    const trie = this.#trie!
    const element = trie.elementOf(node)
    const flags = this.#keys.flagsOf(element)
    const isHeaders = (this.#keys.rolesOf(node) & HEADER_LIST) !== 0
    const names = new ListNames(trie.element[trie.parent[node]!] === node, isHeaders)
    let pairEdit = -1
    for (;;) {
      const end = bytes[pos] === QUOTE ? this.#stringEnd(pos + 1) : pos
      const verdict = this.#verdictOf(names, pos + 1, end)
      if (verdict === IN_PAIR) pairEdit = this.#edit(pos, pos, NULL_TEXT, REASON_NONE, element)
      const start = pos
      if (verdict === IS_SECRET) {
        pos = this.#redact(pos, end + 1, REDACTED_STRING, REASON_DENYLISTED, element)
      } else pos = this.#element(pos, element, flags)
      if (verdict === IN_PAIR) this.edits.end[pairEdit] = pos
      if (verdict === IN_PAIR && bytes[start] === QUOTE) {
        this.edits.text[pairEdit] = REDACTED_STRING
      }
      pos = this.#space(pos)
      if (bytes[pos] === CLOSE_ARRAY) break
      pos = this.#space(pos + 1)
    }
    if (pairEdit >= 0 && names.count === 2) {
      this.edits.reason[pairEdit] = REASON_DENYLISTED
      this.#redacted++
    }
    return pos + 1
  }

  /** What an array's names say of the element at `start`; no string when it has no `end` after. */
  #verdictOf(names: ListNames, start: number, end: number): number {
    if (end < start) return names.judgeOther(this.#bytes[start - 1] === OPEN_ARRAY)
    const text = names.isAwaited
      ? unescapeToString(this.#bytes, start, end)
      : this.#nameAt(start, end, true)
    return text === undefined ? names.judgeOther(false) : names.judge(text)
  }

  #element(pos: number, element: number, flags: number): number {
    const byte = this.#bytes[pos]
    if (byte !== OPEN_OBJECT && byte !== OPEN_ARRAY) return this.#value(pos, element, flags)
    const outer = this.#scopes.enter(element)
    const end = this.#value(pos, element, flags)
    this.#scopes.leave(outer)
    return end
  }

  #edit(start: number, end: number, text: ArenaText, reason: number, node: number): number {
    this.nodes.push(node)
    this.#scopes.ofEdit.push(this.#scopes.current)
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
