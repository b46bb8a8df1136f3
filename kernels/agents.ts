/**
 * User agents: what is known of the string in an event is written beside it. Takes the events whose
 * one field is known; all others (no field judged yet, several of them, a sibling that is there, an
 * escaped string, one below an array) are left to `workers/transform/agents/user-agent-fields.ts`.
 */
import { copyValue, hashText, isSameText } from './copy'
import { ends, starts, tapeEnds, tapeStarts } from './events'
import { copyEntries } from './splice'
import { DEAD, ENTRY_BYTES, EXTENSION, STRING } from './tape-entries'

const LINE_FEED: u8 = 0x0a
/** Flags of nodes, as `user-agent-fields.ts` gives them. */
const FIELD: u32 = 2
const SIBLING: u32 = 4
const IN_ARRAY: u32 = 8
/** Room for the line feed and for what is copied past a text's end. */
const MARGIN: i32 = 32

/** Of a card (`workers/transform/rewrite/agent-card.ts`), in bytes. */
const CARD_TEXT_LENGTH: usize = 0
const CARD_TEXT_ROOM: usize = 4
const CARD_JSON_LENGTH: usize = 8
const CARD_JSON_ROOM: usize = 12
const CARD_ENTRIES: usize = 16
const CARD_NODE: usize = 20
const CARD_GENERATION: usize = 24
const CARD_HEAD: usize = 32
/** A place: hash and card; a set has four. */
const PLACE_BYTES: usize = 8
const SET_BYTES: usize = 4 * PLACE_BYTES

/** Of a key: node of the sibling, length, text. */
const KEY_LENGTH: usize = 4
const KEY_TEXT: usize = 8

/** Integers of the state, in bytes. */
const TEXT: usize = 0
const TAPE: usize = 4
const HITS: usize = 8
const CHANGED: usize = 12

let flags: usize = 0
let flagCount: i32 = 0
/** By node of a field: the address of its sibling's key, 0 where that was not asked for. */
let keys: usize = 0
let generation: i32 = 0

export function bindAgentFields(byNode: usize, count: i32, siblingKeys: usize, trie: i32): void {
  flags = byNode
  flagCount = count
  keys = siblingKeys
  generation = trie
}

let places: usize = 0
/** Sets, a power of two, less one. */
let setMask: i32 = 0
let textBytesMax: i32 = 0

export function bindAgents(table: usize, mask: i32, longest: i32): void {
  places = table
  setMask = mask
  textBytesMax = longest
}

/**
 * Goes on from event `first` and stops at the one that it leaves, or at `end`. Changed events are
 * written behind the others: their text at `bytes`, before `limit`; their entries on the tape.
 * `state`: where both end; how many strings were known, and how many events changed.
 */
export function addSiblings(
  first: i32,
  end: i32,
  bytes: usize,
  limit: i32,
  entries: usize,
  capacity: i32,
  state: usize,
): i32 {
  let event = first
  for (; event < end; event++) {
    const at = (<usize>event) << 2
    const from = entries + ((<usize>load<i32>(tapeStarts + at)) << 2)
    const to = entries + ((<usize>load<i32>(tapeEnds + at)) << 2)
    const field = findField(from, to)
    if (field === 0) continue
    if (field === to) break
    const card = cardOf(bytes + load<i32>(field, 8), bytes + load<i32>(field, 12))
    if (card === 0) break
    const jsonLength = load<i32>(card, CARD_JSON_LENGTH)
    if (jsonLength > 0) {
      const key = <usize>load<u32>(keys + ((<usize>load<i32>(field)) << 2))
      if (key === 0 || load<i32>(card, CARD_NODE) !== load<i32>(key)) break
      if (load<i32>(card, CARD_GENERATION) !== generation) break
      const growth = load<i32>(key, KEY_LENGTH) + jsonLength
      const length = load<i32>(ends + at) - load<i32>(starts + at) + growth
      if (load<i32>(state, TEXT) + length + MARGIN > limit) break
      const integers = <i32>((to - from + <usize>load<i32>(card, CARD_ENTRIES)) >> 2)
      if (load<i32>(state, TAPE) + integers > capacity) break
      write(at, from, field, to, key, card, bytes, entries, state)
      store<i32>(state, load<i32>(state, CHANGED) + 1, CHANGED)
    }
    store<i32>(state, load<i32>(state, HITS) + 1, HITS)
  }
  return event
}

/** The entry of the one field of an event; 0 where it has none, `to` where it is left. */
function findField(from: usize, to: usize): usize {
  let field: usize = 0
  for (let entry = from; entry < to; entry += ENTRY_BYTES) {
    const type = load<i32>(entry, 4)
    if (type === EXTENSION || type === DEAD) continue
    const node = load<i32>(entry)
    if (node >= flagCount) return to
    const found = <u32>load<u8>(flags + node)
    if (found === 0 || (found & SIBLING) !== 0) return to
    if ((found & FIELD) === 0) continue
    if (type !== STRING || (found & IN_ARRAY) !== 0 || field !== 0) return to
    field = entry
  }
  return field
}

/** The card of the string `start`..`end`, or 0. */
function cardOf(start: usize, end: usize): usize {
  const length = min(<i32>(end - start), textBytesMax)
  const hash = hashText(start, length)
  const set = places + <usize>(hash & setMask) * SET_BYTES
  for (let place = set; place < set + SET_BYTES; place += PLACE_BYTES) {
    const card = <usize>load<u32>(place, 4)
    if (card === 0 || load<i32>(place) !== hash) continue
    if (load<i32>(card, CARD_TEXT_LENGTH) !== length) continue
    if (isSameText(card + CARD_HEAD, start, length)) return card
  }
  return 0
}

/** Writes the event at `at` of the arrays once more, with key and object behind `field`. */
function write(
  at: usize,
  from: usize,
  field: usize,
  to: usize,
  key: usize,
  card: usize,
  bytes: usize,
  entries: usize,
  state: usize,
): void {
  const start = load<i32>(starts + at)
  const end = load<i32>(ends + at)
  const text = load<i32>(state, TEXT)
  const tape = load<i32>(state, TAPE)
  const keyLength = load<i32>(key, KEY_LENGTH)
  const jsonLength = load<i32>(card, CARD_JSON_LENGTH)
  const json = card + CARD_HEAD + load<i32>(card, CARD_TEXT_ROOM)
  // Behind the closing quote.
  const cut = load<i32>(field, 12) + 1
  const keyAt = text + cut - start
  const jsonAt = keyAt + keyLength
  const restAt = jsonAt + jsonLength
  const textEnd = restAt + end - cut
  copyValue(bytes + text, bytes + start, cut - start)
  copyValue(bytes + keyAt, key + KEY_TEXT, keyLength)
  copyValue(bytes + jsonAt, json, jsonLength)
  copyValue(bytes + restAt, bytes + cut, end - cut)
  store<u8>(bytes + textEnd, LINE_FEED)

  const known = json + load<i32>(card, CARD_JSON_ROOM)
  const knownBytes = load<i32>(card, CARD_ENTRIES)
  const rest = field + ENTRY_BYTES
  const out = entries + ((<usize>tape) << 2)
  const knownOut = out + (rest - from)
  const restOut = knownOut + knownBytes
  const moved = <i32>(<isize>(out - from) >> 2)
  copyEntries(from, rest, out, text - start, moved)
  copyEntries(known, known + knownBytes, knownOut, jsonAt, 0)
  copyEntries(rest, to, restOut, restAt - cut, moved + (knownBytes >> 2))
  const tapeEnd = tape + <i32>((to - from + knownBytes) >> 2)

  store<i32>(starts + at, text)
  store<i32>(ends + at, textEnd)
  store<i32>(tapeStarts + at, tape)
  store<i32>(tapeEnds + at, tapeEnd)
  store<i32>(state, textEnd + 1, TEXT)
  store<i32>(state, tapeEnd, TAPE)
}
