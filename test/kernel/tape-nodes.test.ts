/**
 * Goal: nodes that others than the tape make (OTLP's decoder, keys that transforms add) are no
 * places outside of what the kernel may write. Method: in a file of its own, so that the memory
 * behind the tape's arrays is known.
 */
import './checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arena } from '../../workers/kernel/arena.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie, ROOT } from '../../workers/tape/path-trie.ts'

const NODES = 20_000
const CANARY = -7

test('a tape takes keys that others made since its batch began, within its arrays', () => {
  const keys = Array.from({ length: NODES }, (_, i) => `k${i}`)
  const text = JSON.stringify(Object.fromEntries(keys.map((key, i) => [key, i])))
  const trie = new PathTrie()
  const tape = new JsonTape(trie)
  const input = Buffer.concat([Buffer.from(`${text}\n`), Buffer.alloc(TAPE_PADDING)])
  tape.reserve(NODES * 4 + 64)
  tape.begin(input)
  // What is allocated next lies right behind what the tape knows of nodes.
  const canaries = Array.from({ length: 64 }, () => arena.int32(1_000).fill(CANARY))
  for (const key of keys) trie.child(ROOT, Buffer.from(key), 0, key.length, false)
  assert.equal(tape.parse(0, ROOT, false), text.length)
  assert.equal(tape.length, NODES * 4)
  for (const canary of canaries) assert(canary.every((value) => value === CANARY))
})
