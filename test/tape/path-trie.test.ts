/**
 * Goal: a client cannot make the trie slow by choosing keys that meet in one place of its table,
 * nor large by sending ever new ones.
 * Method: keys are made to collide under one seed; under another they must be spread, which shows
 * in the time that finding them takes. What the trie holds is counted, in nodes and in bytes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashBytes } from '../../workers/tape/hash-bytes.ts'
import { JsonTape } from '../../workers/tape/json-tape.ts'
import { PathTrie, ROOT, TRIE_NODES_MAX } from '../../workers/tape/path-trie.ts'
import { cpuNow } from '../support/cpu-time.ts'

const KNOWN_SEED = 0x811c9dc5
const KEYS = 2_000
const PLACES = 0xfff

function collidingKeys(): Buffer[] {
  const keys: Buffer[] = []
  for (let i = 0; keys.length < KEYS; i++) {
    const key = Buffer.from(`k${i.toString(36)}`)
    if ((hashBytes(key, 0, key.length, KNOWN_SEED) & PLACES) === 0) keys.push(key)
  }
  return keys
}

/** Milliseconds to make all nodes and find them again. */
function timeOf(seed: number, keys: readonly Buffer[]): number {
  const trie = new PathTrie(seed)
  const startedAt = cpuNow()
  for (let round = 0; round < 2; round++) {
    for (const key of keys) trie.child(ROOT, key, 0, key.length, false)
  }
  return cpuNow() - startedAt
}

test('keys that collide under one seed do not under another', () => {
  const keys = collidingKeys()
  timeOf(1, keys)
  const places = (seed: number) =>
    new Set(keys.map((key) => hashBytes(key, 0, key.length, seed) & PLACES)).size
  assert.equal(places(KNOWN_SEED), 1)
  // FNV's low bits mix little: some hundred places, not all. That is enough against one chain.
  assert(places(0x1234567) > KEYS / 16, 'spread over the table')
  const known = Math.min(timeOf(KNOWN_SEED, keys), timeOf(KNOWN_SEED, keys))
  const secret = Math.min(timeOf(0x1234567, keys), timeOf(0x1234567, keys))
  assert(secret < known, `${secret} ms with a secret seed, ${known} ms with a known one`)
})

test('the seed changes nothing that is stored', () => {
  const key = Buffer.from('some.key')
  const [one, other] = [new PathTrie(1), new PathTrie(2)]
  const nodes = [one, other].map((trie) => trie.child(ROOT, key, 0, key.length, false))
  assert.equal(one.hashLow[nodes[0]!], other.hashLow[nodes[1]!])
  assert.equal(one.hashHigh[nodes[0]!], other.hashHigh[nodes[1]!])
})

/** A batch of one event with `count` keys from `first` on. */
function batchOf(first: number, count: number): Buffer {
  const keys = Array.from({ length: count }, (_, i) => `"key-${first + i}":{"x":[1]}`)
  return Buffer.concat([Buffer.from(`{${keys.join(',')}}`), Buffer.of(0x0a, ...Array(16).fill(0))])
}

test('TRIE_NODES_MAX: keys without end take the memory of those many, and no more', () => {
  const trie = new PathTrie(7)
  const tape = new JsonTape(trie)
  const keysABatch = 1_000
  let first = 1_000_000 // Keys of one length.
  let resets = 0
  const send = (count: number) => {
    const { generation } = trie
    const bytes = batchOf(first, count)
    tape.begin(bytes)
    assert.equal(tape.parse(0, ROOT, false), bytes.length - 17)
    first += count
    if (trie.generation !== generation) resets++
    assert(trie.count <= TRIE_NODES_MAX + 3 * count + 2, `${trie.count} nodes`)
  }
  while (resets < 1) send(keysABatch)
  const full = trie.bytes
  assert(full < 16 * 1024 * 1024, `${full} bytes`)
  while (resets < 5) send(keysABatch)
  assert.equal(trie.bytes, full, 'the fifth time takes what the first time took')
  send(TRIE_NODES_MAX)
  assert(trie.bytes > full, 'one batch of many keys takes more')
  send(1)
  assert(trie.bytes < full, 'and gives it back')
})
