/**
 * A message as an event:
 *
 *   {"facility":"auth","facility_code":4,"severity":"info","severity_code":6,"host":"web1",
 *    "app":"sshd","procid":"812","msgid":"ID47","message":"text",
 *    "timestamp_assumed":{"year":2026,"zone":"UTC"},"peer":"10.0.0.1",
 *    "sd":{"id":{"name":"value"}},"cef":{…},"leef":{…},
 *    "sequence":123,"uptime":"3w1d","clock":"unset","truncated":true}
 *
 * of which only what is there is written. The text is `log` where it is a JSON object. What a
 * priority says, what was assumed of times, and the names of members that came before are written
 * once and copied; that and all texts go through one kernel call. The rest is rare.
 */
import { SYSLOG_PAIRS_MAX } from '../../../src/limits.ts'
import { SYSLOG_FACILITIES, SYSLOG_SEVERITIES } from '../../../src/model/batch/syslog-part.ts'
import { EventBuilder, NO_KEY } from '../../build/event-builder.ts'
import { EventPieces, KeptMembers, pieceKey } from '../../build/event-pieces.ts'
import { type ByteSource, paddedSource } from '../../build/scalar-writer.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { ROOT } from '../../tape/path-trie.ts'
import type { DecodeTarget } from '../decoder.ts'
import { type FieldList, NAME_IN_TEXT, NONE, VALUE_IN_TEXT } from './field-list.ts'
import { MemberShapes } from './member-shapes.ts'
import { SPACE } from './syslog-bytes.ts'
import {
  APP,
  CEF,
  HOST,
  JSON_OBJECT,
  LEEF,
  MESSAGE_ID,
  NO_NUMBER,
  PROCESS,
  type SyslogMessage,
  TEXT,
  UPTIME,
} from './syslog-message.ts'
import { CLOCK_KNOWN, CLOCK_UNSET } from './syslog-time.ts'

const KEYS = [
  ...['facility', 'facility_code', 'severity', 'severity_code', 'priority_assumed', 'host'],
  ...['app', 'procid', 'msgid', 'message', 'log', 'sd', 'cef', 'leef', 'sequence', 'uptime'],
  ...['clock', 'timestamp_assumed', 'peer', 'truncated'],
] as const
type Key = (typeof KEYS)[number]
const KEY_BYTES = KEYS.map((key) => Buffer.from(key))
const ASSUMED_KEYS = ['year', 'zone'].map((key) => Buffer.from(key))

/** user.notice (RFC 3164, 4.3.3). */
const FACILITY_ASSUMED = 1
const SEVERITY_ASSUMED = 5
const SEVERITIES = SYSLOG_SEVERITIES.length
const PRIORITIES = SYSLOG_FACILITIES.length * SEVERITIES
/** Beside structured data and CEF or LEEF there are fewer than 16. */
const PIECES_MAX = 16 + 2 * (SYSLOG_PAIRS_MAX + 1)
const TWO_32 = 2 ** 32
const NAMES = SYSLOG_SEVERITIES.map(text)
const FACILITIES = SYSLOG_FACILITIES.map(text)
const UNSET = text('unset')
const UNSYNCED = text('unsynced')
/** What may have been assumed of a time, as bits. */
const YEAR = 1
const ZONE = 2

const HOST_KEY = pieceKey('host')
const APP_KEY = pieceKey('app')
const PROCESS_KEY = pieceKey('procid')
const MESSAGE_ID_KEY = pieceKey('msgid')
const MESSAGE_KEY = pieceKey('message')
const LOG_KEY = pieceKey('log')
const PEER_KEY = pieceKey('peer')

export class EventWriter {
  readonly builder: EventBuilder
  readonly #tape: JsonTape
  readonly #pieces = new EventPieces(PIECES_MAX)
  #nodes: Readonly<Record<Key, number>> = nodesOf(KEYS.map(() => 0))
  #yearNode = 0
  #zoneNode = 0
  /** By priority; those that were assumed, by severity, come behind. */
  readonly #priorities = listOf(PRIORITIES + SEVERITIES)
  /** By what was assumed. */
  readonly #assumed = listOf(YEAR + ZONE + 1)
  #assumedYear = 0
  #assumedZone: string | undefined
  readonly #shapes: MemberShapes
  /** Addresses of the peer's, the arena's. */
  #peerStart = 0
  #peerEnd = 0
  /** Of the trie: what is kept has its nodes. */
  #generation = -1

  constructor({ tape, generated }: DecodeTarget) {
    this.builder = new EventBuilder(tape, generated)
    this.#tape = tape
    this.#shapes = new MemberShapes(tape.trie)
  }

  /** Starts a part. */
  begin(): void {
    const { builder } = this
    builder.begin()
    this.#nodes = nodesOf(builder.knownNodes(ROOT, KEY_BYTES))
    const assumed = builder.knownNodes(this.#nodes.timestamp_assumed, ASSUMED_KEYS)
    const [year, zone] = assumed as [number, number]
    this.#yearNode = year
    this.#zoneNode = zone
    if (this.#generation === this.#tape.trie.generation) return
    this.#generation = this.#tape.trie.generation
    this.#shapes.clear()
    for (const kept of this.#priorities) kept.forget()
    for (const kept of this.#assumed) kept.forget()
  }

  /** Who sent the next message: ASCII in `bytes`, at `address`; anything else is nobody. */
  setPeer(bytes: Uint8Array, address: number, start: number, end: number): void {
    this.#peerStart = 0
    this.#peerEnd = 0
    if (start === end) return
    for (let i = start; i < end; i++) if (bytes[i]! <= SPACE || bytes[i]! > 0x7e) return
    this.#peerStart = address + start
    this.#peerEnd = address + end
  }

  /** Writes the event; false when it is too large. */
  write(message: SyslogMessage, isCut: boolean): boolean {
    const { time, elements, payload, kind, address } = message
    const nodes = this.#nodes
    const shapes = this.#shapes
    const pieces = this.#pieces
    this.#gatherPieces(message)
    const hasElements =
      elements.groups > 0 && !shapes.tryAdd(elements, 'sd', nodes.sd, address, pieces)
    const name = kind === CEF ? 'cef' : 'leef'
    const hasPayload =
      (kind === CEF || kind === LEEF) && !shapes.tryAdd(payload, name, nodes[name], address, pieces)
    const isWritten =
      pieces.write(this.builder) &&
      (!hasElements || this.#writeElements(elements)) &&
      (!hasPayload || this.#writeMembers(payload, 0, this.#key(name))) &&
      (message.sequence === NO_NUMBER || this.#writeNumber('sequence', message.sequence)) &&
      (!message.has(UPTIME) || this.#writeUptime(message)) &&
      (time.clock === CLOCK_KNOWN ||
        this.#writeString('clock', time.clock === CLOCK_UNSET ? UNSET : UNSYNCED)) &&
      (!isCut || this.#writeTrue('truncated'))
    if (!isWritten) return false
    this.builder.closeRoot()
    return true
  }

  /** Gathers what nearly all messages have, of which a part is always there. */
  #gatherPieces(message: SyslogMessage): void {
    const { start, end, kind, address: at, time } = message
    const pieces = this.#pieces
    const nodes = this.#nodes
    pieces.begin()
    // An object without a priority has none: the level that it may say counts.
    const hasPriority = message.priority !== NO_NUMBER || kind !== JSON_OBJECT
    if (hasPriority) pieces.addKept(this.#priorityOf(message))
    if (end[HOST]! > start[HOST]!) {
      pieces.addText(nodes.host, HOST_KEY, at + start[HOST]!, at + end[HOST]!)
    } else if (this.#peerEnd > 0) {
      // The peer, where the message names no host.
      pieces.addText(nodes.host, HOST_KEY, this.#peerStart, this.#peerEnd)
    }
    if (end[APP]! > start[APP]!)
      pieces.addText(nodes.app, APP_KEY, at + start[APP]!, at + end[APP]!)
    if (end[PROCESS]! > start[PROCESS]!) {
      pieces.addText(nodes.procid, PROCESS_KEY, at + start[PROCESS]!, at + end[PROCESS]!)
    }
    if (end[MESSAGE_ID]! > start[MESSAGE_ID]!) {
      pieces.addText(nodes.msgid, MESSAGE_ID_KEY, at + start[MESSAGE_ID]!, at + end[MESSAGE_ID]!)
    }
    if (end[TEXT]! > start[TEXT]!) {
      const isObject = kind === JSON_OBJECT
      const node = isObject ? nodes.log : nodes.message
      pieces.addText(node, isObject ? LOG_KEY : MESSAGE_KEY, at + start[TEXT]!, at + end[TEXT]!)
    }
    if (time.assumedYear !== 0 || time.assumedZone !== undefined) {
      pieces.addKept(this.#assumedOf(time.assumedYear, time.assumedZone))
    }
    if (this.#peerEnd > 0) {
      pieces.addText(nodes.peer, PEER_KEY, this.#peerStart, this.#peerEnd)
    }
  }

  #priorityOf({ priority, tagSeverity }: SyslogMessage): KeptMembers {
    const assumed = tagSeverity === NO_NUMBER ? SEVERITY_ASSUMED : tagSeverity
    const index = priority === NO_NUMBER ? PRIORITIES + assumed : priority
    const kept = this.#priorities[index]!
    if (!kept.isCaptured) this.#keep(kept, () => this.#writePriority(index))
    return kept
  }

  #writePriority(index: number): void {
    const isAssumed = index >= PRIORITIES
    const facility = isAssumed ? FACILITY_ASSUMED : index >> 3
    const severity = index & 7
    this.#writeString('facility', FACILITIES[facility]!)
    this.#writeNumber('facility_code', facility)
    this.#writeString('severity', NAMES[severity]!)
    this.#writeNumber('severity_code', severity)
    if (isAssumed) this.#writeTrue('priority_assumed')
  }

  #assumedOf(year: number, zone: string | undefined): KeptMembers {
    const isOther = year !== 0 && year !== this.#assumedYear
    if (isOther || (zone !== undefined && zone !== this.#assumedZone)) {
      for (const kept of this.#assumed) kept.forget()
      if (year !== 0) this.#assumedYear = year
      if (zone !== undefined) this.#assumedZone = zone
    }
    const kept = this.#assumed[(year === 0 ? 0 : YEAR) + (zone === undefined ? 0 : ZONE)]!
    if (!kept.isCaptured) this.#keep(kept, () => this.#writeAssumed(year, zone))
    return kept
  }

  #writeAssumed(year: number, zone: string | undefined): void {
    const { builder } = this
    this.#key('timestamp_assumed')
    builder.openObject()
    if (year !== 0) {
      builder.knownKey(this.#yearNode, true)
      builder.int64(this.#yearNode, 0, year)
    }
    if (zone !== undefined) {
      builder.knownKey(this.#zoneNode, year === 0)
      const { source, length } = text(zone)
      builder.string(this.#zoneNode, source, 0, length)
    }
    builder.closeRoot()
  }

  /** Writes members, keeps them and takes them back. Nothing is written of the event yet. */
  #keep(kept: KeptMembers, write: () => void): void {
    const { builder } = this
    const at = builder.at
    const tapeAt = this.#tape.length
    write()
    kept.capture(builder, at, tapeAt)
    builder.at = at
    this.#tape.length = tapeAt
  }

  #key(key: Key): number {
    const node = this.#nodes[key]
    this.builder.knownKey(node, false)
    return node
  }

  #writeUptime({ start, end, source }: SyslogMessage): boolean {
    return this.builder.string(this.#key('uptime'), source, start[UPTIME]!, end[UPTIME]!)
  }

  #writeElements(elements: FieldList): boolean {
    const { builder } = this
    const node = this.#key('sd')
    const serial = builder.openObject()
    const { source } = elements
    let previous = NO_KEY
    for (let group = 0; group < elements.groups; group++) {
      const [start, end] = [elements.groupStart(group), elements.groupEnd(group)]
      previous = builder.key(node, previous, serial, source, start, end)
      if (previous < 0) return false
      const child = this.#tape.trie.canonical[previous]!
      if (!this.#writeMembers(elements, group, child)) return false
      builder.endValue(previous)
    }
    builder.closeRoot()
    return true
  }

  /** Writes the pairs of a group as an object; those of one name are an array. */
  #writeMembers(list: FieldList, group: number, node: number): boolean {
    const { builder } = this
    const open = builder.at
    const tapeStart = this.#tape.length
    const serial = builder.openObject()
    let previous = NO_KEY
    for (let pair = 0; pair < list.count; pair++) {
      if (list.group[pair] !== group || list.isFirst[pair] === 0) continue
      const names = (list.inText(pair) & NAME_IN_TEXT) === 0 ? list.source : list.text
      const [start, end] = [list.nameStart(pair), list.nameEnd(pair)]
      previous = builder.key(node, previous, serial, names, start, end)
      if (previous < 0) return false
      if (!this.#writeValues(list, pair, this.#tape.trie.canonical[previous]!)) return false
      builder.endValue(previous)
    }
    builder.closeObject(node, open, tapeStart)
    return true
  }

  #writeValues(list: FieldList, first: number, node: number): boolean {
    if (list.next[first] === NONE) return this.#writeValue(list, first, node)
    const { builder } = this
    const tape = this.#tape
    const header = builder.openArray(node)
    const element = tape.trie.elementOf(node)
    let kinds = 0
    let count = 0
    for (let pair = first; pair !== NONE; pair = list.next[pair]!) {
      if (count > 0) builder.comma()
      const at = tape.length
      if (!this.#writeValue(list, pair, element)) return false
      kinds |= 1 << tape.entries[at + 1]!
      count++
    }
    builder.closeArray(header, kinds, count)
    return true
  }

  #writeValue(list: FieldList, pair: number, node: number): boolean {
    const from = (list.inText(pair) & VALUE_IN_TEXT) === 0 ? list.source : list.text
    return this.builder.string(node, from, list.valueStart(pair), list.valueEnd(pair))
  }

  #writeString(key: Key, { source, length }: Text): boolean {
    return this.builder.string(this.#key(key), source, 0, length)
  }

  #writeNumber(key: Key, value: number): boolean {
    return this.builder.int64(this.#key(key), Math.floor(value / TWO_32), value % TWO_32)
  }

  #writeTrue(key: Key): boolean {
    return this.builder.boolean(this.#key(key), true)
  }
}

function listOf(count: number): readonly KeptMembers[] {
  return Array.from({ length: count }, () => new KeptMembers())
}

interface Text {
  readonly source: ByteSource
  readonly length: number
}

function text(characters: string): Text {
  const bytes = Buffer.from(characters)
  return { source: paddedSource(bytes), length: bytes.length }
}

function nodesOf(nodes: readonly number[]): Readonly<Record<Key, number>> {
  return Object.fromEntries(KEYS.map((key, i) => [key, nodes[i]!])) as Record<Key, number>
}
