/**
 * Reads a tape back into plain text that can be compared with what JSON.parse makes of the same
 * bytes. Written from the tape's documentation alone, and slow.
 */
import assert from 'node:assert/strict'
import type { JsonTape } from '../../workers/tape/json-tape.ts'
import { ROOT } from '../../workers/tape/path-trie.ts'
import {
  ARRAY,
  DEAD,
  ELEMENT,
  ENTRY,
  ESCAPED,
  EXTENSION,
  FALSE,
  FLOAT,
  INT,
  NULL,
  OBJECT,
  STRING,
  TRUE,
  UINT,
} from '../../workers/tape/tape-types.ts'

/** A value in a canonical spelling: keys sorted, strings well-formed, -0 and overflow visible. */
export function canonical(value: unknown): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (typeof value === 'string') return wellFormed(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value === null || typeof value !== 'object') return String(value)
  return canonicalObject(new Map(Object.entries(value).map(([k, v]) => [k, canonical(v)])))
}

function wellFormed(text: string): string {
  return JSON.stringify(Buffer.from(text).toString())
}

type Level = Map<string, string | Level>

function canonicalObject(level: ReadonlyMap<string, string | Level>): string {
  const items = [...level].map(([key, value]) => {
    return `${wellFormed(key)}:${typeof value === 'string' ? value : canonicalObject(value)}`
  })
  return `{${items.sort().join(',')}}`
}

/** The event whose entries are `start`..`end`, in the same spelling. */
export function readEvent(tape: JsonTape, bytes: Uint8Array, start: number, end: number): string {
  const root: Level = new Map()
  for (let at = start; at < end; at = nextEntry(tape, at)) {
    const type = tape.entries[at + 1]!
    if (type !== DEAD) put(root, keysOf(tape, tape.entries[at]!), readValue(tape, bytes, at))
  }
  return canonicalObject(root)
}

function nextEntry(tape: JsonTape, at: number): number {
  const type = tape.entries[at + 1]!
  if (type !== ARRAY && type !== ELEMENT) return at + ENTRY
  assert.equal(tape.entries[at + 5], EXTENSION)
  return tape.entries[at + 7]!
}

function put(root: Level, keys: readonly string[], value: string): void {
  let level = root
  for (const key of keys.slice(0, -1)) {
    let next = level.get(key)
    if (next === undefined) level.set(key, (next = new Map()))
    assert(typeof next !== 'string', 'a scalar and an object live at one path')
    level = next
  }
  const last = keys.at(-1)!
  assert(!level.has(last), 'two values live at one path')
  level.set(last, value)
}

/** Keys from the event, or from the array element around it, down to `node`. */
function keysOf(tape: JsonTape, node: number): string[] {
  const { trie } = tape
  const keys: string[] = []
  for (let at = node; at > ROOT; at = trie.parent[at]!) {
    if (trie.element[trie.parent[at]!] === at) break
    assert.equal(trie.canonical[at], at, 'the tape holds canonical nodes only')
    const start = trie.keyStart[at]!
    keys.push(Buffer.from(trie.keyBytes.subarray(start, start + trie.keyLength[at]!)).toString())
  }
  return keys.reverse()
}

function readValue(tape: JsonTape, bytes: Uint8Array, at: number): string {
  const { entries } = tape
  const text = Buffer.from(bytes.subarray(entries[at + 2]!, entries[at + 3]!)).toString()
  switch (entries[at + 1]) {
    case NULL:
    case TRUE:
    case FALSE:
      return text
    case INT:
    case UINT:
    case FLOAT:
      assert.equal(entries[at + 1], numberType(text), `type of ${text}`)
      return canonical(Number(text))
    case STRING:
      assert(!text.includes('\\'), 'a STRING holds no escapes')
      return JSON.stringify(text)
    case ESCAPED:
      assert(text.includes('\\'), 'an ESCAPED string holds escapes')
      return wellFormed(JSON.parse(`"${text}"`))
    case OBJECT:
      assert.deepEqual(JSON.parse(text), {})
      return '{}'
    case ARRAY:
      return readArray(tape, bytes, at)
    case ELEMENT:
      assert.match(text, /^\{.*\}$/s)
      return readEvent(tape, bytes, at + 2 * ENTRY, entries[at + 7]!)
    default:
      return assert.fail(`type ${entries[at + 1]} as a value`)
  }
}

function readArray(tape: JsonTape, bytes: Uint8Array, at: number): string {
  const { entries } = tape
  const end = entries[at + 7]!
  const items: string[] = []
  let kinds = 0
  for (let i = at + 2 * ENTRY; i < end; i = nextEntry(tape, i)) {
    kinds |= 1 << entries[i + 1]!
    assert.equal(tape.trie.parent[entries[i]!], entries[at], 'an element is below its array')
    items.push(readValue(tape, bytes, i))
  }
  assert.equal(entries[at + 4], kinds, 'kinds of the elements')
  assert.equal(entries[at + 6], items.length, 'count of the elements')
  return `[${items.join(',')}]`
}

function numberType(text: string): number {
  if (!/^-?[0-9]+$/.test(text)) return FLOAT
  const value = BigInt(text)
  if (BigInt.asIntN(64, value) === value) return INT
  return BigInt.asUintN(64, value) === value ? UINT : FLOAT
}
