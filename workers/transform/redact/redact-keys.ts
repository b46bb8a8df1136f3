/**
 * Which keys are redacted. A key is judged once, when its trie node is first met, and remembered
 * by node: an event costs one look-up in a byte array per value.
 *
 * Whether a key names a secret is judged by `secret-names.ts`. A key with dots is several
 * segments: `{"user.password":…}` is `{"user":{"password":…}}`, as everywhere. `redact_fields` are
 * compared by whole segments, lower case and without `-` and `_`, from the event's root; arrays
 * take no segment (`src/model/redact/redact-path.ts`).
 *
 * A name of a secret may be a value as well: `{"name":"Authorization","value":…}`, and in arrays,
 * such as lists of headers and of a program's arguments. Nodes where that is possible have a flag
 * of their own, and strings there are checked (`listed-names.ts`). In pairs, only names that have a
 * value beside them in some object: most events have `name` somewhere.
 */
import { normalizePathSegment, normalizeSegment } from '../../../src/model/redact/redact-path.ts'
import { arena } from '../../kernel/arena.ts'
import type { PathTrie } from '../../tape/path-trie.ts'
import { ROOT } from '../../tape/path-trie.ts'
import {
  judgeName,
  type KeyAbove,
  NO_NAME,
  NOTHING_ABOVE,
  SECRET_NAME,
} from '../names/secret-names.ts'
import { HEADER_LIST_KEYS, PAIR_NAME_KEYS, PAIR_VALUE_KEYS } from '../names/secret-words.ts'

/** A key, or the event itself. The elements of an array have NAMES, so none has no flag at all. */
export const KEY = 1
/** The value of this key is redacted as a whole: its name is on the denylist. */
export const DENYLISTED = 2
/** The same, because `redact_fields` names its path. */
export const LISTED = 4
/** Within a value that is redacted as a whole. */
export const WITHIN_REDACTED = 8
/** `_raw` or `_svc_raw`: cleared when something beside or below is redacted. */
export const RAW = 16
/** Within the value of such a key. */
export const WITHIN_RAW = 32
export const REDACTED_WHOLE = DENYLISTED | LISTED
/** The key names a secret where it holds a string; also in the arrays that it holds. */
export const SECRET_STRINGS = 64
/** The strings at this node may be the names of secrets. */
export const NAMES = 128

/** The key of a pair's name, of its value, of a list of headers; see `rolesOf`. */
export const PAIR_NAME = 8
export const PAIR_VALUE = 16
export const HEADER_LIST = 32
const KIND_BITS = 7

const RAW_KEYS: ReadonlySet<string> = new Set(['_raw', '_svc_raw'])
const ROLE_KEYS: ReadonlyMap<string, number> = new Map([
  ...rolesOfKeys(PAIR_NAME, PAIR_NAME_KEYS),
  ...rolesOfKeys(PAIR_VALUE, PAIR_VALUE_KEYS),
  ...rolesOfKeys(HEADER_LIST, HEADER_LIST_KEYS),
])
const NO_FIELD = 0

/** One segment of the paths in `redact_fields`; those that begin alike share their beginning. */
interface FieldStep {
  readonly steps: Map<string, number>
  isEnd: boolean
}

/** The nodes of pairs in the objects at one node. */
interface Pairs {
  readonly names: number[]
  hasValue: boolean
}

export class RedactKeys {
  /** Index 0 is not a step of any path, index 1 is the root. */
  readonly #fields: FieldStep[] = [createStep(), createStep()]
  #trie: PathTrie | undefined
  #generation = -1
  /** By node, in the arena: DENYLISTED, LISTED, …; 0 for a node that nobody asked about. */
  flags = arena.uint8(0)
  #field = new Int32Array(0)
  /** By node: how sure its key's name is, and its roles. */
  #kinds = new Uint8Array(0)
  readonly #pairs = new Map<number, Pairs>()
  /** Changes when flags of nodes changed that were judged before. */
  revision = 0

  constructor(fields: readonly string[]) {
    for (const field of fields) {
      let step = 1
      for (const segment of field.split('.').map(normalizePathSegment)) {
        let next = this.#fields[step]!.steps.get(segment)
        if (next === undefined) {
          next = this.#fields.push(createStep()) - 1
          this.#fields[step]!.steps.set(segment, next)
        }
        step = next
      }
      this.#fields[step]!.isEnd = true
    }
  }

  /** Starts a batch, whose nodes are of `trie`. */
  begin(trie: PathTrie): void {
    if (this.#trie === trie && this.#generation === trie.generation) return
    this.#trie = trie
    this.#generation = trie.generation
    this.flags = arena.replaced(this.flags, arena.uint8(trie.parent.length))
    this.#kinds = new Uint8Array(trie.parent.length)
    this.#pairs.clear()
    this.#field = new Int32Array(this.#fields.length > 2 ? trie.parent.length : 0)
  }

  /** Gives the arena back what it has of it. Nobody may use these keys afterwards. */
  dispose(): void {
    arena.release(this.flags)
  }

  /** Flags of a canonical node: DENYLISTED, LISTED, … */
  flagsOf(node: number): number {
    const flags = this.flags[node]
    return flags === undefined || flags === 0 ? this.#judge(node) : flags
  }

  /** NO_NAME … LISTED_NAME of a node that was judged. */
  kindOf(node: number): number {
    return this.#kinds[node]! & KIND_BITS
  }

  /** PAIR_NAME, PAIR_VALUE, HEADER_LIST of a node that was judged. */
  rolesOf(node: number): number {
    return this.#kinds[node]! & ~KIND_BITS
  }

  /** Cold: once a node. No deeper than events are. */
  #judge(node: number): number {
    const trie = this.#trie!
    if (node >= this.flags.length) this.#grow(trie.parent.length)
    if (node <= ROOT) {
      if (this.#field.length > 0) this.#field[node] = 1
      this.flags[node] = KEY
      return KEY
    }
    const parent = trie.parent[node]!
    const above = this.flagsOf(parent)
    let flags = 0
    if ((above & (REDACTED_WHOLE | WITHIN_REDACTED)) !== 0) flags |= WITHIN_REDACTED
    if ((above & (RAW | WITHIN_RAW)) !== 0) flags |= WITHIN_RAW
    const field = this.#field[parent] ?? NO_FIELD
    if (trie.element[parent] === node) {
      if (this.#field.length > 0) this.#field[node] = field
      flags |= NAMES | (above & SECRET_STRINGS)
      this.#kinds[node] = this.kindOf(parent)
    } else {
      flags |= KEY | this.#judgeKey(trie.key(node), field, node)
    }
    this.flags[node] = flags
    if (this.rolesOf(node) !== 0) this.#pair(node, parent)
    return this.flags[node]!
  }

  /** Names of pairs are checked once the first value was seen beside one. */
  #pair(node: number, parent: number): void {
    let pairs = this.#pairs.get(parent)
    if (pairs === undefined) this.#pairs.set(parent, (pairs = { names: [], hasValue: false }))
    const roles = this.rolesOf(node)
    if ((roles & PAIR_NAME) !== 0) pairs.names.push(node)
    if ((roles & PAIR_VALUE) !== 0) pairs.hasValue = true
    if (!pairs.hasValue) return
    for (const name of pairs.names) this.flags[name]! |= NAMES
    pairs.names.length = 0
    this.revision++
  }

  #judgeKey(key: string, parentField: number, node: number): number {
    const segments = key.split('.')
    const last = segments.at(-1)!
    let flags = RAW_KEYS.has(last) ? RAW : 0
    const kind = judgeName(key, this.#above(node))
    this.#kinds[node] = kind | (ROLE_KEYS.get(normalizeSegment(last)) ?? 0)
    if (kind >= SECRET_NAME) flags |= DENYLISTED
    else if (kind !== NO_NAME) flags |= SECRET_STRINGS
    let field = parentField
    for (const segment of segments) {
      field = this.#fields[field]!.steps.get(normalizePathSegment(segment)) ?? NO_FIELD
      if (this.#fields[field]!.isEnd) flags |= LISTED
    }
    if (this.#field.length > 0) this.#field[node] = field
    return flags
  }

  #above(node: number): KeyAbove {
    const trie = this.#trie!
    let at = trie.parent[node]!
    let isDirect = true
    while (at > ROOT && trie.element[trie.parent[at]!] === at) {
      at = trie.parent[at]!
      isDirect = false
    }
    return at > ROOT ? { key: trie.key(at), isDirect } : NOTHING_ABOVE
  }

  #grow(length: number): void {
    const field = this.#field
    const kinds = this.#kinds
    this.#kinds = new Uint8Array(length)
    this.#kinds.set(kinds)
    const flags = arena.uint8(length)
    flags.set(this.flags)
    this.flags = arena.replaced(this.flags, flags)
    if (field.length === 0) return
    this.#field = new Int32Array(length)
    this.#field.set(field)
  }
}

function rolesOfKeys(role: number, keys: ReadonlySet<string>): [string, number][] {
  return [...keys].map((key) => [key, role])
}

function createStep(): FieldStep {
  return { steps: new Map(), isEnd: false }
}
