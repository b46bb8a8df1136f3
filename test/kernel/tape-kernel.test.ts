/**
 * Goal: what the tape's kernel takes, it takes as the tape does, entry for entry; what it leaves,
 * it leaves untouched. Method: differential fuzzing of a tape with its kernel against one without,
 * over generated and damaged objects whose keys are known by then.
 */
import './checked-kernels.ts'

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { DEPTH_MAX } from '../../src/limits.ts'
import { arena } from '../../workers/kernel/arena.ts'
import { kernels } from '../../workers/kernel/kernels.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie, ROOT } from '../../workers/tape/path-trie.ts'
import { TapeKernel } from '../../workers/tape/tape-kernel.ts'
import * as tapeTypes from '../../workers/tape/tape-types.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { mutate, randomObject } from '../tape/json-cases.ts'

const FUZZ_MS = 1_500
const MUTANTS = 6
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

function padded(text: string | Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(text), Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)])
}

/** What a tape makes of an object at the start of `bytes`, its faults included. */
function parse(tape: JsonTape, bytes: Uint8Array, lineFeedIsSpace: boolean) {
  tape.begin(bytes)
  const end = tape.parse(0, ROOT, lineFeedIsSpace)
  if (end < 0) return { end, code: tape.errorCode, at: tape.errorAt }
  return { end, entries: [...tape.entries.subarray(0, tape.length)] }
}

/** What the kernel alone makes of it: the entries, or undefined where it leaves it to the tape. */
function kernelParse(tape: JsonTape, text: string | Uint8Array, capacity = 64 * 1024) {
  const bytes = tape.begin(padded(text))
  const kernel = new TapeKernel(tape.trie, kernels)
  kernel.reserve(tape.trie.parent.length)
  const out = { entries: arena.int32(capacity), length: 0 }
  const end = kernel.tryParse(out, bytes, 0, ROOT, 1, false)
  const entries = [...out.entries.subarray(0, out.length)]
  arena.release(out.entries)
  return end < 0 ? undefined : entries
}

/** A tape that knows the keys of these objects. */
function tapeThatKnows(...texts: readonly string[]): JsonTape {
  const tape = new JsonTape(new PathTrie(), { isQuick: false })
  for (const text of texts) {
    tape.begin(padded(text))
    assert(tape.parse(0, ROOT, false) > 0, text)
  }
  return tape
}

test('with the kernel a tape is what it is without', () => {
  let round = seed
  let taken = 0
  let met = 0
  forMilliseconds(FUZZ_MS, () => {
    const random = new Random(++round)
    const quick = new JsonTape(new PathTrie())
    const slow = new JsonTape(new PathTrie(), { isQuick: false })
    for (let i = 0; i < 10; i++) {
      const text = Buffer.from(randomObject(random, 5))
      const lines = [text, text, ...Array.from({ length: MUTANTS }, () => mutate(random, text))]
      for (const line of lines) {
        const bytes = padded(line)
        const lineFeedIsSpace = random.chance(0.5)
        const what = `round ${round}: ${JSON.stringify(line.toString())}`
        const expected = parse(slow, bytes, lineFeedIsSpace)
        assert.deepEqual(parse(quick, bytes, lineFeedIsSpace), expected, what)
      }
      met++
      if (kernelParse(quick, text) !== undefined) taken++
    }
  })
  assert(met > 100 && taken > met / 2, `the kernel took ${taken} of ${met}`)
})

test('the kernel takes every kind of value, in every usual spelling', () => {
  const texts = [
    '{"a":"","b":"plain","long":"0123456789abcdef0123456789abcdef0123456789"}',
    '{"escapes":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00","c":"\u00e9\u{1f600}"}',
    '{"n":[0,-0,1,-1,12345678901234567,1.5,-0.25,1e5,1E-7,2.5e+10]}',
    '{"i":[9223372036854775807,9223372036854775808,-9223372036854775808,-9223372036854775809]}',
    '{"u":[18446744073709551615,18446744073709551616,99999999999999999999,123456789012345678901]}',
    '{"l":[true,false,null],"t":true,"f":false,"z":null}',
    '{"o":{},"p":{"q":{"r":1}},"e":[],"x":[{}],"y":[{"k":1},{"k":"2","m":[3,[4]]}]}',
    ' {\t"a" : "", "b"\r: "x" , "long":[ 1 , 2 ] } '.trim(),
    '{}',
  ]
  const tape = tapeThatKnows(...texts)
  for (const text of texts) {
    const entries = kernelParse(tape, text)
    assert(entries !== undefined, text)
    tape.begin(padded(text))
    tape.parse(0, ROOT, false)
    assert.deepEqual(entries, [...tape.entries.subarray(0, tape.length)], text)
  }
})

test('the kernel leaves what needs more than reading', () => {
  const deepest = `${'{"a":'.repeat(DEPTH_MAX)}1${'}'.repeat(DEPTH_MAX)}`
  const tape = tapeThatKnows('{"a":1,"b":[1],"\\u0063":2}', deepest)
  assert(kernelParse(tape, deepest) !== undefined)
  const left = [
    `{"a":${deepest}}`,
    '{"new":1}',
    '{"a":1,"a":2}',
    '{"\\u0061":1}',
    '{"a":1',
    '{"a":"x',
    '{"a":"\\x"}',
    '{"a":"\\u12g4"}',
    '{"a":01}',
    '{"a":-}',
    '{"a":1.}',
    '{"a":1e}',
    '{"a":tru}',
    '{"a":nul}',
    '{"a":fals}',
    '{"a":1,}',
    '{"a" 1}',
    '{"a":[1,]}',
    '{"b":[1}',
    '{"a":"\t"}',
  ]
  for (const text of left) assert.equal(kernelParse(tape, text), undefined, text)
})

test('a full tape is left, and nothing is written past it', () => {
  const text = `{"a":[${'1,'.repeat(500)}1],"b":{"c":"d"}}`
  const tape = tapeThatKnows(text)
  const bytes = tape.begin(padded(text))
  const kernel = new TapeKernel(tape.trie, kernels)
  kernel.reserve(tape.trie.parent.length)
  const whole = kernelParse(tape, text)
  assert(whole !== undefined)
  for (let capacity = 0; capacity < whole.length; capacity += 4) {
    const room = arena.int32(capacity + 1_024)
    room.fill(-7)
    const out = { entries: room.subarray(0, capacity), length: 0 }
    assert.equal(kernel.tryParse(out, bytes, 0, ROOT, 1, false), -1)
    assert(
      room.subarray(capacity).every((value) => value === -7),
      `${capacity}`,
    )
    arena.release(room)
  }
})

test('the kernels know the types of tape entries as the tape has them', () => {
  const url = new URL('../../../kernels/tape-entries.ts', import.meta.url)
  const text = readFileSync(url, 'utf8')
  const found = [...text.matchAll(/export const (\w+): i32 = (\d+)/g)].map(([, name, value]) => {
    return [name, Number(value)] as const
  })
  assert.equal(found.length, 13)
  const { ENTRY, ...types } = tapeTypes
  for (const [name, value] of found) assert.equal(types[name as keyof typeof types], value, name)
  assert.match(text, new RegExp(`ENTRY_BYTES: usize = ${4 * ENTRY}`))
})
