/**
 * Which keys are redacted. A key is judged once, when its trie node is first met, and remembered
 * by node: an event costs one look into a byte array a value.
 *
 * Segments are compared, never substrings: lower case, without `-` and `_`. A key that holds dots
 * is several segments: `{"user.password":…}` is `{"user":{"password":…}}`, as everywhere.
 * `redact_fields` are compared the same way, from the event's root; arrays take no segment
 * (`src/model/redact-path.ts`).
 */
import { normalizePathSegment, normalizeSegment } from '../../src/model/redact-path.ts'
import type { PathTrie } from '../decode/path-trie.ts'
import { ROOT } from '../decode/path-trie.ts'
import { arena } from '../kernel/arena.ts'
import { DENYLISTED_SEGMENTS } from './secret-words.ts'

const KNOWN = 1
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

const RAW_KEYS: ReadonlySet<string> = new Set(['_raw', '_svc_raw'])
const NO_FIELD = 0

/** One segment of the paths in `redact_fields`; those that begin alike share their beginning. */
interface FieldStep {
  readonly steps: Map<string, number>
  isEnd: boolean
}

export class RedactKeys {
  /** Index 0 is no step of any path, index 1 the root. */
  readonly #fields: FieldStep[] = [createStep(), createStep()]
  #trie: PathTrie | undefined
  #generation = -1
  /** By node, in the arena: DENYLISTED, LISTED, …; 0 for a node that nobody asked about. */
  flags = arena.uint8(0)
  #field = new Int32Array(0)

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

  /** Cold: once a node. No deeper than events are. */
  #judge(node: number): number {
    const trie = this.#trie!
    if (node >= this.flags.length) this.#grow(trie.parent.length)
    if (node <= ROOT) {
      if (this.#field.length > 0) this.#field[node] = 1
      this.flags[node] = KNOWN
      return KNOWN
    }
    const parent = trie.parent[node]!
    const above = this.flagsOf(parent)
    let flags = KNOWN
    if ((above & (REDACTED_WHOLE | WITHIN_REDACTED)) !== 0) flags |= WITHIN_REDACTED
    if ((above & (RAW | WITHIN_RAW)) !== 0) flags |= WITHIN_RAW
    const field = this.#field[parent] ?? NO_FIELD
    if (trie.element[parent] === node) {
      if (this.#field.length > 0) this.#field[node] = field
    } else {
      flags |= this.#judgeKey(trie.key(node), field, node)
    }
    this.flags[node] = flags
    return flags
  }

  #judgeKey(key: string, parentField: number, node: number): number {
    const segments = key.split('.')
    let flags = RAW_KEYS.has(segments.at(-1)!) ? RAW : 0
    let field = parentField
    for (const segment of segments) {
      if (DENYLISTED_SEGMENTS.has(normalizeSegment(segment))) flags |= DENYLISTED
      field = this.#fields[field]!.steps.get(normalizePathSegment(segment)) ?? NO_FIELD
      if (this.#fields[field]!.isEnd) flags |= LISTED
    }
    if (this.#field.length > 0) this.#field[node] = field
    return flags
  }

  #grow(length: number): void {
    const field = this.#field
    const flags = arena.uint8(length)
    flags.set(this.flags)
    this.flags = arena.replaced(this.flags, flags)
    if (field.length === 0) return
    this.#field = new Int32Array(length)
    this.#field.set(field)
  }
}

function createStep(): FieldStep {
  return { steps: new Map(), isEnd: false }
}
