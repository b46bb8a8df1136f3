/**
 * User agents: what is known of the string in an event is written beside it. Takes the events whose
 * one field is known; all others (no field judged yet, several of them, a sibling that is there, an
 * escaped string, one below an array) are left to `workers/transform/agents/user-agent-fields.ts`.
 */
import { copyValue, hashText, isSameText } from './copy'
import { Events } from './events'
import { copyEntries } from './splice'
import { DEAD, ENTRY_BYTES, EXTENSION, STRING } from './tape-entries'

const LINE_FEED: u8 = 0x0a
/** Flags of nodes, as `user-agent-fields.ts` gives them. */
const FIELD: u32 = 2
const SIBLING: u32 = 4
const IN_ARRAY: u32 = 8
/** Room for the line feed and for what is copied past a text's end. */
const MARGIN: i32 = 32

/** Offsets in a card (`workers/transform/rewrite/agent-card.ts`), in bytes. */
const CARD_TEXT_LENGTH: usize = 0
const CARD_TEXT_ROOM: usize = 4
const CARD_JSON_LENGTH: usize = 8
const CARD_JSON_ROOM: usize = 12
const CARD_ENTRIES: usize = 16
const CARD_NODE: usize = 20
const CARD_GENERATION: usize = 24
const CARD_HEAD: usize = 32
/** A slot: hash and card; a set has four. */
const PLACE_BYTES: usize = 8
const SET_BYTES: usize = 4 * PLACE_BYTES

/** Of a key: node of the sibling, length, text. */
const KEY_LENGTH: usize = 4
const KEY_TEXT: usize = 8

@unmanaged
export class AgentFields {
  /** By node of a field: its flags; and the address of its sibling's key, or 0. */
  flags: usize = 0
  flagCount: i32 = 0
  keys: usize = 0
  generation: i32 = 0
  /**
   * Slots of cards, the number of sets (a power of two) less one, and how much of a text counts.
   */
  places: usize = 0
  setMask: i32 = 0
  textBytesMax: i32 = 0
  /** Where the changed events' text ends, and their entries. */
  text: i32 = 0
  tape: i32 = 0
  /** How many strings were known, and how many events changed. */
  hits: i32 = 0
  changed: i32 = 0
}

/**
 * Goes on from event `first` and stops at the one that it leaves, or at `end`. Changed events are
 * written after the others: their text at `bytes`, before `limit`; their entries on the tape.
 */
export function addSiblings(
  fields: AgentFields,
  events: Events,
  first: i32,
  end: i32,
  bytes: usize,
  limit: i32,
  entries: usize,
  capacity: i32,
): i32 {
  let event = first
  for (; event < end; event++) {
    const at = (<usize>event) << 2
    const from = entries + ((<usize>load<i32>(events.tapeStarts + at)) << 2)
    const to = entries + ((<usize>load<i32>(events.tapeEnds + at)) << 2)
    const field = findField(fields, from, to)
    if (field === 0) continue
    if (field === to) break
    const card = cardOf(fields, bytes + load<i32>(field, 8), bytes + load<i32>(field, 12))
    if (card === 0) break
    const jsonLength = load<i32>(card, CARD_JSON_LENGTH)
    if (jsonLength > 0) {
      const key = <usize>load<u32>(fields.keys + ((<usize>load<i32>(field)) << 2))
      if (key === 0 || load<i32>(card, CARD_NODE) !== load<i32>(key)) break
      if (load<i32>(card, CARD_GENERATION) !== fields.generation) break
      const growth = load<i32>(key, KEY_LENGTH) + jsonLength
      const length = load<i32>(events.ends + at) - load<i32>(events.starts + at) + growth
      if (fields.text + length + MARGIN > limit) break
      const integers = <i32>((to - from + <usize>load<i32>(card, CARD_ENTRIES)) >> 2)
      if (fields.tape + integers > capacity) break
      write(fields, events, at, from, field, to, key, card, bytes, entries)
      fields.changed++
    }
    fields.hits++
  }
  return event
}

/** The entry of the one field of an event; 0 where it has none, `to` where it is left. */
function findField(fields: AgentFields, from: usize, to: usize): usize {
  let field: usize = 0
  for (let entry = from; entry < to; entry += ENTRY_BYTES) {
    const type = load<i32>(entry, 4)
    if (type === EXTENSION || type === DEAD) continue
    const node = load<i32>(entry)
    if (node >= fields.flagCount) return to
    const found = <u32>load<u8>(fields.flags + node)
    if (found === 0 || (found & SIBLING) !== 0) return to
    if ((found & FIELD) === 0) continue
    if (type !== STRING || (found & IN_ARRAY) !== 0 || field !== 0) return to
    field = entry
  }
  return field
}

/** The card of the string `start`..`end`, or 0. */
function cardOf(fields: AgentFields, start: usize, end: usize): usize {
  const length = min(<i32>(end - start), fields.textBytesMax)
  const hash = hashText(start, length)
  const set = fields.places + <usize>(hash & fields.setMask) * SET_BYTES
  for (let place = set; place < set + SET_BYTES; place += PLACE_BYTES) {
    const card = <usize>load<u32>(place, 4)
    if (card === 0 || load<i32>(place) !== hash) continue
    if (load<i32>(card, CARD_TEXT_LENGTH) !== length) continue
    if (isSameText(card + CARD_HEAD, start, length)) return card
  }
  return 0
}

/** Writes the event at `at` of the arrays once more, with key and object after `field`. */
function write(
  fields: AgentFields,
  events: Events,
  at: usize,
  from: usize,
  field: usize,
  to: usize,
  key: usize,
  card: usize,
  bytes: usize,
  entries: usize,
): void {
  const start = load<i32>(events.starts + at)
  const end = load<i32>(events.ends + at)
  const text = fields.text
  const tape = fields.tape
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

  store<i32>(events.starts + at, text)
  store<i32>(events.ends + at, textEnd)
  store<i32>(events.tapeStarts + at, tape)
  store<i32>(events.tapeEnds + at, tapeEnd)
  fields.text = textEnd + 1
  fields.tape = tapeEnd
}
