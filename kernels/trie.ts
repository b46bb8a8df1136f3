/** The trie of keys (`workers/tape/path-trie.ts`) as kernels read it. */
import { isSameText } from './copy'
import { stringStop } from './scan'

const QUOTE: u32 = 0x22
export const NO_KEY: i32 = 0

let parents: usize = 0
let keyStarts: usize = 0
let keyLengths: usize = 0
let canonicals: usize = 0
let nexts: usize = 0
let firsts: usize = 0
let elements: usize = 0
let escapeds: usize = 0
let keyBytes: usize = 0
let table: usize = 0
let tableMask: i32 = 0
let hashSeed: i32 = 0

export function bindTrieLinks(
  parent: usize,
  canonical: usize,
  next: usize,
  first: usize,
  element: usize,
): void {
  parents = parent
  canonicals = canonical
  nexts = next
  firsts = first
  elements = element
}

export function bindTrieKeys(
  keyStart: usize,
  keyLength: usize,
  escaped: usize,
  bytes: usize,
  keyTable: usize,
  mask: i32,
  seed: i32,
): void {
  keyStarts = keyStart
  keyLengths = keyLength
  escapeds = escaped
  keyBytes = bytes
  table = keyTable
  tableMask = mask
  hashSeed = seed
}

/** Where the key is kept that came first in the object at `node` last time. */
export function firstOf(node: i32): usize {
  return firsts + ((<usize>node) << 2)
}

/** Where the key is kept that came behind `key` last time. */
export function nextOf(key: i32): usize {
  return nexts + ((<usize>key) << 2)
}

export function keyLengthOf(key: i32): i32 {
  return load<i32>(keyLengths + ((<usize>key) << 2))
}

function keyBytesOf(key: i32): usize {
  return keyBytes + load<i32>(keyStarts + ((<usize>key) << 2))
}

export function canonicalOf(key: i32): i32 {
  return load<i32>(canonicals + ((<usize>key) << 2))
}

/** The node of the elements of arrays at `node`; 0 when none was met. */
export function elementOf(node: i32): i32 {
  return load<i32>(elements + ((<usize>node) << 2))
}

/** Whether the key with its closing quote, which is kept behind it, stands at `pos`. */
export function isKeyAt(pos: usize, key: i32): bool {
  return isSameText(pos, keyBytesOf(key), keyLengthOf(key) + 1)
}

/** Whether the key is spelled without escapes and has these `length` bytes. */
export function isKeyText(pos: usize, length: i32, key: i32): bool {
  return (
    keyLengthOf(key) === length &&
    load<u8>(escapeds + key) === 0 &&
    isSameText(pos, keyBytesOf(key), length)
  )
}

/** The key at `pos` up to its closing quote, if it is known and without escapes. */
export function findKey(pos: usize, node: i32): i32 {
  const end = stringStop(pos)
  return <u32>load<u8>(end) === QUOTE ? findKeyText(pos, <i32>(end - pos), node) : NO_KEY
}

/** The key of these `length` bytes, none of which needs an escape, if it is known. */
export function findKeyText(pos: usize, length: i32, node: i32): i32 {
  const end = pos + length
  let hash = hashSeed
  for (let at = pos; at < end; at++) hash = (hash ^ <i32>load<u8>(at)) * 0x01000193
  hash ^= node * <i32>0x9e3779b1
  let slot = hash & tableMask
  for (;;) {
    const key = load<i32>(table + ((<usize>slot) << 2))
    if (key === NO_KEY) break
    if (load<i32>(parents + ((<usize>key) << 2)) === node && isKeyText(pos, length, key)) return key
    slot = (slot + 1) & tableMask
  }
  return NO_KEY
}
