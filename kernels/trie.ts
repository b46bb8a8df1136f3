/** The trie of keys (`workers/tape/path-trie.ts`) as kernels read it. */
import { isSameText } from './copy'
import { stringStop } from './scan'

const QUOTE: u32 = 0x22
export const NO_KEY: i32 = 0

/** By node, but for the last four. */
@unmanaged
export class Trie {
  parents: usize = 0
  keyStarts: usize = 0
  keyLengths: usize = 0
  canonicals: usize = 0
  nexts: usize = 0
  firsts: usize = 0
  elements: usize = 0
  escapeds: usize = 0
  keyBytes: usize = 0
  table: usize = 0
  tableMask: i32 = 0
  hashSeed: i32 = 0
}

/** Where the key is kept that came first in the object at `node` last time. */
export function firstOf(trie: Trie, node: i32): usize {
  return trie.firsts + ((<usize>node) << 2)
}

/** Where the key is kept that came after `key` last time. */
export function nextOf(trie: Trie, key: i32): usize {
  return trie.nexts + ((<usize>key) << 2)
}

export function keyLengthOf(trie: Trie, key: i32): i32 {
  return load<i32>(trie.keyLengths + ((<usize>key) << 2))
}

function keyBytesOf(trie: Trie, key: i32): usize {
  return trie.keyBytes + load<i32>(trie.keyStarts + ((<usize>key) << 2))
}

export function canonicalOf(trie: Trie, key: i32): i32 {
  return load<i32>(trie.canonicals + ((<usize>key) << 2))
}

/** The node of the trie.elements of arrays at `node`; 0 when none was seen. */
export function elementOf(trie: Trie, node: i32): i32 {
  return load<i32>(trie.elements + ((<usize>node) << 2))
}

/** Whether the key with its closing quote, which is kept after it, is at `pos`. */
export function isKeyAt(trie: Trie, pos: usize, key: i32): bool {
  return isSameText(pos, keyBytesOf(trie, key), keyLengthOf(trie, key) + 1)
}

/** Whether the key is spelled without escapes and has these `length` bytes. */
export function isKeyText(trie: Trie, pos: usize, length: i32, key: i32): bool {
  return (
    keyLengthOf(trie, key) === length &&
    load<u8>(trie.escapeds + key) === 0 &&
    isSameText(pos, keyBytesOf(trie, key), length)
  )
}

/** The key at `pos` up to its closing quote, if it is known and without escapes. */
export function findKey(trie: Trie, pos: usize, node: i32): i32 {
  const end = stringStop(pos)
  return <u32>load<u8>(end) === QUOTE ? findKeyText(trie, pos, <i32>(end - pos), node) : NO_KEY
}

/** The key of these `length` bytes, none of which needs an escape, if it is known. */
export function findKeyText(trie: Trie, pos: usize, length: i32, node: i32): i32 {
  const end = pos + length
  let hash = trie.hashSeed
  for (let at = pos; at < end; at++) hash = (hash ^ <i32>load<u8>(at)) * 0x01000193
  hash ^= node * <i32>0x9e3779b1
  let slot = hash & trie.tableMask
  for (;;) {
    const key = load<i32>(trie.table + ((<usize>slot) << 2))
    if (key === NO_KEY) break
    if (load<i32>(trie.parents + ((<usize>key) << 2)) === node && isKeyText(trie, pos, length, key))
      return key
    slot = (slot + 1) & trie.tableMask
  }
  return NO_KEY
}
