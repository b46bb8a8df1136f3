/**
 * Adds `{field}_parsed` beside the user agent strings of a batch's events, at any depth.
 *
 * Field names are compared as they are spelled, the last segments of a key that holds dots too, so
 * that OpenTelemetry's flat `user_agent.original` counts like the nested one. A sibling that exists
 * already is kept, however it is spelled.
 */
import { DEPTH_MAX } from '../../../src/limits.ts'
import { arena } from '../../kernel/arena.ts'
import { ArenaText } from '../../kernel/arena-copy.ts'
import { kernels } from '../../kernel/kernels.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import { type JsonTape, TAPE_PADDING } from '../../tape/json-tape.ts'
import { type PathTrie, ROOT } from '../../tape/path-trie.ts'
import { DEAD, ELEMENT, ENTRY, ESCAPED, EXTENSION, STRING } from '../../tape/tape-types.ts'
import { Edits } from '../rewrite/edits.ts'
import type { EventRewriter } from '../rewrite/event-rewriter.ts'
import type { UserAgents } from './user-agent.ts'

/** User agent strings of one event that are parsed; each may add an object to it. */
export const USER_AGENTS_PER_EVENT_MAX = 32

const NAMES = [
  'user_agent',
  'userAgent',
  'useragent',
  'user-agent',
  'User-Agent',
  'http_user_agent',
  'ua',
  'agent',
]
/** Of Elastic's schema and OpenTelemetry's: `user_agent.original`. */
const ORIGINAL = 'original'
const ORIGINAL_PARENT = 'user_agent'
const SUFFIX = '_parsed'

const FIELD_NAMES: ReadonlySet<string> = new Set(NAMES)
const SIBLING_NAMES: ReadonlySet<string> = new Set([...NAMES, ORIGINAL].map((n) => n + SUFFIX))

const KNOWN = 1
const FIELD = 2
/** The sibling of some field, or within it. */
const SIBLING = 4
/** Below an element of an array. */
const IN_ARRAY = 8

/** Of a sibling's key for the kernel: its node and its length, before its text. */
const KEY_HEAD_BYTES = 8

/** What is written beside one field. */
interface Sibling {
  /** `,"user_agent_parsed":` */
  readonly key: ArenaText
  readonly node: number
  /** Holds the key, after what the kernel wants to know of it. */
  readonly block: Buffer
}

/** The kernel's context: see `AgentFields` of `kernels/agents.ts`. */
const context = arena.addresses(11)
/** Where the cards begin in that context, and where the counts do. */
const CARDS = 4
const COUNTS = 7

export class UserAgentFields {
  readonly #edits = new Edits()
  #trie: PathTrie | undefined
  #generation = -1
  #flags = arena.uint8(0)
  readonly #siblings = new Map<number, Sibling>()
  /** By node of a field: the address of its sibling's block, 0 where that is not there. */
  #blocks = arena.addresses(0)
  #changed = 0

  /** Adds siblings in all events of a batch; returns in how many events. */
  run(tape: JsonTape, events: DecodedEvents, rewriter: EventRewriter, agents: UserAgents): number {
    this.#begin(tape.trie)
    context.set(agents.known(), CARDS)
    const edits = this.#edits
    this.#changed = 0
    for (let i = 0; ; i++) {
      i = this.#addKnown(tape, events, i, rewriter, agents)
      if (i === events.count) return this.#changed
      const tapeStart = events.tapeStart[i]!
      const tapeEnd = events.tapeEnd[i]!
      edits.clear()
      const isSpliced = this.#find(tape, rewriter.bytes, tapeStart, tapeEnd, agents)
      if (edits.count === 0) continue
      if (isSpliced) rewriter.splice(i, edits)
      else rewriter.rewrite(i, edits)
      this.#changed++
    }
  }

  #begin(trie: PathTrie): void {
    this.#trie = trie
    if (this.#generation === trie.generation) return
    this.#flags = arena.replaced(this.#flags, arena.uint8(trie.parent.length))
    this.#blocks = arena.replaced(this.#blocks, arena.addresses(trie.parent.length))
    for (const { block } of this.#siblings.values()) arena.release(block)
    this.#siblings.clear()
    this.#generation = trie.generation
  }

  /** Goes on by the kernel from event `first`; returns the one that it leaves, or their number. */
  #addKnown(
    tape: JsonTape,
    events: DecodedEvents,
    first: number,
    rewriter: EventRewriter,
    agents: UserAgents,
  ): number {
    const flags = this.#flags
    const { output } = rewriter
    const blocks = this.#blocks.byteOffset
    context.set([flags.byteOffset, flags.length, blocks, this.#generation])
    context.set([output.length, tape.length, 0, 0], COUNTS)
    const next = kernels.addSiblings(
      context.byteOffset,
      events.context(),
      first,
      events.count,
      rewriter.bytes.byteOffset,
      output.bytes.length - TAPE_PADDING,
      tape.entries.byteOffset,
      tape.entries.length,
    )
    output.length = context[COUNTS]!
    tape.length = context[COUNTS + 1]!
    agents.hits += context[COUNTS + 2]!
    this.#changed += context[COUNTS + 3]!
    return next
  }

  /** Fills `#edits` for one event; returns whether the tape can follow them. Hot. */
  #find(
    tape: JsonTape,
    bytes: Buffer,
    tapeStart: number,
    tapeEnd: number,
    agents: UserAgents,
  ): boolean {
    const { entries } = tape
    let isSpliced = true
    let hasSibling = false
    let found = 0
    for (let at = tapeStart; ; at += ENTRY) {
      at = this.#nextOfInterest(entries, at, tapeEnd)
      if (at === tapeEnd) break
      const type = entries[at + 1]!
      const node = entries[at]!
      const flags = this.#flags[node] || this.#judge(node)
      if ((flags & SIBLING) !== 0) hasSibling = true
      if ((flags & FIELD) === 0 || (type !== STRING && type !== ESCAPED)) continue
      if (found++ === USER_AGENTS_PER_EVENT_MAX) break
      if ((flags & IN_ARRAY) !== 0) isSpliced = false
      if (!this.#add(bytes, entries, at, agents)) isSpliced = false
    }
    // A break may have left a sibling unseen.
    if (this.#edits.count > 0 && (hasSibling || found > USER_AGENTS_PER_EVENT_MAX)) {
      this.#keepExisting(entries, tapeStart, tapeEnd)
    }
    return isSpliced
  }

  /** The next entry of a key that is a field or a sibling, or was not judged yet; or `end`. */
  #nextOfInterest(entries: Int32Array, from: number, end: number): number {
    const flags = this.#flags
    const address = entries.byteOffset
    const found = kernels.findFlagged(
      address + from * Int32Array.BYTES_PER_ELEMENT,
      address + end * Int32Array.BYTES_PER_ELEMENT,
      flags.byteOffset,
      flags.length,
      FIELD | SIBLING,
    )
    return (found - address) / Int32Array.BYTES_PER_ELEMENT
  }

  /** Adds the edit for a field, if its string says anything; false if the tape cannot follow it. */
  #add(bytes: Buffer, entries: Int32Array, at: number, agents: UserAgents): boolean {
    const start = entries[at + 2]!
    const end = entries[at + 3]!
    const parsed =
      entries[at + 1] === STRING
        ? agents.lookUp(bytes, start, end)
        : agents.lookUpEscaped(bytes, start, end)
    if (parsed === undefined) return true
    const { key, node } = this.#siblingOf(entries[at]!)
    const isElsewhere = this.#edits.insertsElsewhere(parsed, node)
    this.#edits.insert(end + 1, at, key, parsed, node)
    return !isElsewhere
  }

  #siblingOf(field: number): Sibling {
    const known = this.#siblings.get(field)
    if (known !== undefined) return known
    const trie = this.#trie!
    const name = trie.key(field) + SUFFIX
    const bytes = Buffer.from(name)
    const node = trie.child(trie.parent[field]!, bytes, 0, bytes.length, false)
    const text = Buffer.from(`,${JSON.stringify(name)}:`)
    const block = arena.buffer(KEY_HEAD_BYTES + text.length)
    block.writeInt32LE(node, 0)
    block.writeInt32LE(text.length, 4)
    block.set(text, KEY_HEAD_BYTES)
    const sibling = { key: new ArenaText(block.subarray(KEY_HEAD_BYTES)), node, block }
    this.#siblings.set(field, sibling)
    this.#blocks[field] = block.byteOffset
    return sibling
  }

  /** Cold: takes back the edits of fields whose sibling the event has. */
  #keepExisting(entries: Int32Array, tapeStart: number, tapeEnd: number): void {
    const edits = this.#edits
    let kept = 0
    for (let i = 0; i < edits.count; i += 2) {
      const at = edits.entry[i]!
      if (this.#hasSibling(entries, tapeStart, tapeEnd, at)) continue
      edits.copy(i, kept++)
      edits.copy(i + 1, kept++)
    }
    edits.count = kept
  }

  /** Whether the object that holds the field at `field` holds its sibling as well. */
  #hasSibling(entries: Int32Array, tapeStart: number, tapeEnd: number, field: number): boolean {
    const trie = this.#trie!
    let from = tapeStart
    let to = tapeEnd
    for (let at = tapeStart; at < field; at += ENTRY) {
      // The innermost array element around the field: the same nodes mean other objects outside.
      if (entries[at + 1] === ELEMENT && entries[at + 7]! > field) {
        from = at + 2 * ENTRY
        to = entries[at + 7]!
      }
    }
    const parent = trie.parent[entries[field]!]!
    const name = trie.key(entries[field]!) + SUFFIX
    for (let at = from; at < to; at += ENTRY) {
      const type = entries[at + 1]!
      if (type === EXTENSION || type === DEAD) continue
      let node = entries[at]!
      if (((this.#flags[node] || this.#judge(node)) & SIBLING) === 0) continue
      while (node > ROOT && trie.parent[node] !== parent) node = trie.parent[node]!
      if (node <= ROOT) continue
      const key = trie.key(node)
      if (key === name || key.startsWith(`${name}.`)) return true
    }
    return false
  }

  /** Cold: once a node. */
  #judge(node: number): number {
    const trie = this.#trie!
    if (node >= this.#flags.length) {
      const flags = arena.uint8(trie.parent.length)
      const blocks = arena.addresses(trie.parent.length)
      flags.set(this.#flags)
      blocks.set(this.#blocks)
      this.#flags = arena.replaced(this.#flags, flags)
      this.#blocks = arena.replaced(this.#blocks, blocks)
    }
    let flags = KNOWN
    if (node > ROOT) {
      const parent = trie.parent[node]!
      flags |= (this.#flags[parent] || this.#judge(parent)) & (SIBLING | IN_ARRAY)
      if (trie.element[parent] === node) flags |= IN_ARRAY
      else flags |= judgeKey(trie, node, parent)
    }
    this.#flags[node] = flags
    return flags
  }
}

function judgeKey(trie: PathTrie, node: number, parent: number): number {
  const segments = trie.key(node).split('.')
  const last = segments.at(-1)!
  let flags = segments.some((segment) => SIBLING_NAMES.has(segment)) ? SIBLING : 0
  const isOriginal =
    last === ORIGINAL &&
    (segments.length > 1 ? segments.at(-2) : nameOf(trie, parent)) === ORIGINAL_PARENT
  // The sibling is an object in the field's object, and must not be too deep to be read back.
  if ((isOriginal || FIELD_NAMES.has(last)) && depthOf(trie, node) < DEPTH_MAX) flags |= FIELD
  return flags
}

/** The last segment of a node's key; nothing for the root and for elements of arrays. */
function nameOf(trie: PathTrie, node: number): string {
  if (node <= ROOT || trie.element[trie.parent[node]!] === node) return ''
  return trie.key(node).split('.').at(-1)!
}

/** The depth of the object that holds a node's key; the event itself is depth 1. */
function depthOf(trie: PathTrie, node: number): number {
  let depth = 0
  for (let at = node; at > ROOT; at = trie.parent[at]!) depth++
  return depth
}
