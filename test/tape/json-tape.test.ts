/**
 * Goal: the tape judges every line exactly as JSON.parse does, and holds what JSON.parse returns.
 * Method: differential fuzzing with generated, damaged and hostile lines, for a bounded time; the
 * seed of each round is in the assertion's message. Values are compared through `tape-model.ts`.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { DEPTH_MAX } from '../../src/limits.ts'
import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie, TRIE_NODES_MAX } from '../../workers/tape/path-trie.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { mutate, randomObject, randomValue } from './json-cases.ts'
import { canonical, readEvent } from './tape-model.ts'

const FUZZ_MS = 600
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

function padded(text: string | Uint8Array): { bytes: Uint8Array; end: number } {
  const body = Buffer.from(text)
  return {
    bytes: Buffer.concat([body, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)]),
    end: body.length,
  }
}

/** Decodes lines; the events in canonical spelling. */
function decode(tape: JsonTape, text: string | Uint8Array) {
  const { bytes, end } = padded(text)
  const events = new DecodedEvents()
  const outcome = new PartOutcome()
  events.reset()
  tape.begin(bytes)
  decodeNdjson(tape, events, bytes, { start: 0, end }, outcome)
  const read: string[] = []
  for (let i = 0; i < events.count; i++) {
    read.push(readEvent(tape, bytes, events.tapeStart[i]!, events.tapeEnd[i]!))
  }
  return { read, result: outcome.toResult() }
}

const newTape = () => new JsonTape(new PathTrie())

/** How deep brackets nest before `text` ends, as far as a scanner can tell. */
function bracketDepth(text: string): number {
  let depth = 0
  let deepest = 0
  for (const [char] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (char === '{' || char === '[') deepest = Math.max(deepest, ++depth)
    else if (char === ']' || char === '}') depth--
  }
  return deepest
}

function tryParse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Escapes of lone surrogates become U+FFFD, as in UTF-8: two of them as keys are then one key. */
function withoutLoneSurrogates(text: string): string {
  const escapes = /\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\ud[89a-f][0-9a-f]{2}|\\./gi
  return text.replace(escapes, (found) => (found.length === 6 ? '\\ufffd' : found))
}

function isObject(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** Asserts that one line, without line feeds, gets JSON.parse's verdict and values. */
function assertJudged(tape: JsonTape, line: Uint8Array, hint: string): void {
  const text = Buffer.from(line).toString()
  const expected = tryParse(text)
  const { read, result } = decode(tape, line)
  const reject = result.rejects[0]
  const what = `${hint}: ${JSON.stringify(text)}`
  assert.equal(result.lines, line.length === 0 ? 0 : 1, what)
  if (/^[ \t\r]*$/.test(text)) {
    assert.equal(result.items, 0, what)
    return
  }
  assert.equal(result.items, 1, what)
  if (reject?.code === 'too_deep') assert(bracketDepth(text) > DEPTH_MAX, what)
  else if (expected === undefined) assert.equal(reject?.code, 'malformed', what)
  else if (!isObject(expected.value)) assert.equal(reject?.code, 'not_an_object', what)
  else {
    assert.equal(reject, undefined, what)
    assert.equal(read[0], canonical(JSON.parse(withoutLoneSurrogates(text))), what)
  }
}

test('generated objects are read as JSON.parse reads them', () => {
  let round = seed
  const rounds = forMilliseconds(FUZZ_MS, () => {
    const random = new Random(++round)
    const tape = newTape()
    for (let i = 0; i < 20; i++) {
      assertJudged(tape, Buffer.from(randomObject(random, 5)), `round ${round}`)
    }
  })
  assert(rounds > 10, `only ${rounds} rounds`)
})

test('damaged lines are accepted and rejected as JSON.parse does', () => {
  let round = seed
  let accepted = 0
  let judged = 0
  forMilliseconds(FUZZ_MS, () => {
    const random = new Random(++round)
    const tape = newTape()
    for (let i = 0; i < 20; i++) {
      const value = random.chance(0.8) ? randomObject(random, 4) : randomValue(random, 4)
      const line = mutate(random, Buffer.from(value))
      if (!isUtf8(line) || line.includes(0x0a)) continue
      assertJudged(tape, line, `round ${round}`)
      judged++
      if (tryParse(Buffer.from(line).toString()) !== undefined) accepted++
    }
  })
  // Both verdicts must really occur.
  assert(accepted > judged / 50 && accepted < judged * 0.9, `${accepted} of ${judged} were valid`)
})

test('hostile lines get the verdict of JSON.parse', () => {
  const alphabet = [...'{}[]",:\\u0aA1-+.eE tfn\0', 'true', 'null', '\\"', '"a":', '\u00e9']
  let round = seed
  forMilliseconds(FUZZ_MS / 2, () => {
    const random = new Random(++round)
    const tape = newTape()
    for (let i = 0; i < 50; i++) {
      let line = random.pick(['', '{', '{"a":', '[', '{"a":"'])
      for (let n = random.below(8); n > 0; n--) line += random.pick(alphabet)
      line += random.pick(['', '}', ']', '"}'])
      assertJudged(tape, Buffer.from(line), `round ${round}`)
    }
  })
})

const LITERAL_LINES = [
  '{"a":1,"a":2}',
  '{"a":{"b":1},"a":2}',
  '{"a":2,"a":{"b":1}}',
  '{"a":{"b":1},"a":{"c":2}}',
  '{"a":{"b":1},"a":{}}',
  '{"a":{},"a":{"b":1}}',
  '{"a":[{"x":1}],"a":[{"y":2}]}',
  '{"a":[1,{"x":[2]}],"x":0,"a":null}',
  '{"a":null,"a":[[[]]]}',
  '{"a":{"b":1,"b":{"c":2},"b":3},"a":{"b":{"b":4}}}',
  '{"r":{"a":1,"a":{"b":2}},"r":{"a":{"b":3},"a":4}}',
  '{"a":[{"k":1,"k":{"l":2}},{"k":{"l":3},"k":4}]}',
  '{"a.b":1,"a":{"b":2}}',
  '{"\\u0061":1,"a":2}',
  '{"a":1,"\\u0061":{"b":2}}',
  '{"a":{"b":1},"\\u0061":{"b":2}}',
  '{"a\\\\b":1,"a\\b":2,"a\\\\u0062":3}',
  '{"a\\\\\\u0062":1,"a\\\\b":2}',
  '{"":1,"a":{"":{"":2}}}',
  '{"a":"\\ud83d","b":"\\ude00","c":"\\ud83d\\ude00","d":"\\ud83dx\\ude00","e":"\\ud83d\\ud83d"}',
  '{"a":"\\u0000\\u001f\\"\\\\\\/\\b\\f\\n\\r\\t"}',
  '{"a":1e400,"b":-1e400,"c":-0,"d":0.0,"e":-0.0,"f":1e-400}',
  '{"a":9223372036854775807,"b":9223372036854775808,"c":-9223372036854775808}',
  '{"a":-9223372036854775809,"b":18446744073709551615,"c":18446744073709551616}',
  '{"a":123456789012345678901234567890,"b":[-123456789012345678901234567890]}',
  '{"a":01}',
  '{"a":-}',
  '{"a":1.}',
  '{"a":.5}',
  '{"a":1e}',
  '{"a":+1}',
  '{"a":-01}',
  '{"a":"\\u12g4"}',
  '{"a":"\\x"}',
  '{"a":"\\',
  '{"a":"\\u00',
  '{"a":"\t"}',
  '{"a":nul}',
  '{"a":truee}',
  '{"a":1,}',
  '{,"a":1}',
  '{"a" 1}',
  '{"a":[1,]}',
  '{"a":[,1]}',
  '{"a":[1 2]}',
  "{'a':1}",
  '{"a":NaN}',
  '{"a":1}}',
  '{"a":1}{"b":2}',
  '\ufeff{"a":1}',
  '{"a":1}\u00a0',
  '{"a":1}\0',
  '\r{"a":1}\r',
  ' \t{ "a" \t:\r1 } \t\r',
]

test('known difficult lines are judged as JSON.parse judges them', () => {
  const tape = newTape()
  for (const line of LITERAL_LINES) assertJudged(tape, Buffer.from(line), 'literal')
  for (const line of LITERAL_LINES) assertJudged(newTape(), Buffer.from(line), 'literal, fresh')
})

test('every prefix of a valid line is judged as JSON.parse judges it', () => {
  const line = Buffer.from('{"k\\u0065y":[-1.5e+3,"\\ud83d\\n",{"a":null}],"t":true,"f":false}')
  for (let end = 0; end <= line.length; end++) {
    assertJudged(newTape(), line.subarray(0, end), `prefix of ${end}`)
  }
})

test('DEPTH_MAX levels are taken, one more is too deep', () => {
  const nest = (open: string, close: string, levels: number) =>
    `{"r":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`
  for (const [open, close] of [
    ['{"a":', '}'],
    ['[', ']'],
    ['[{"a":', '}]'],
  ] as const) {
    const step = open.length > 5 ? 2 : 1
    const levels = Math.floor((DEPTH_MAX - 1) / step) + 1
    assertJudged(newTape(), Buffer.from(nest(open, close, levels)), open)
    assert.equal(decode(newTape(), nest(open, close, levels)).result.accepted, 1, open)
    const tooDeep = decode(newTape(), nest(open, close, levels + 1)).result
    assert.equal(tooDeep.rejects[0]?.code, 'too_deep', open)
  }
  // Far deeper than any stack.
  assert.equal(decode(newTape(), '['.repeat(500_000)).result.rejects[0]?.code, 'too_deep')
})

test('a line is judged on itself alone: neighbours neither mend nor break it', () => {
  const broken = ['{"a":"x', '{"a":1', '{"a":[1,', '{"a":', '{"a"', '{', '{"a":"\\', '{"a":-']
  const tape = newTape()
  for (const line of broken) {
    for (const rest of ['"}', '}', '2]}', '1}', ':1}', '"b":1}', 'n"}', '{"ok":1}', '']) {
      const { read, result } = decode(tape, `{"before":1}\n${line}\n${rest}\n{"after":1}`)
      assert.equal(result.lines, 4)
      assert.equal(result.rejects[0]?.line, 2, line)
      assert.equal(result.rejects[0]?.code, 'malformed', line)
      assert.deepEqual([read[0], read.at(-1)], ['{"before":1}', '{"after":1}'])
    }
  }
})

/** Lines of a few recurring shapes and some of their own. */
function someLines(random: Random, count: number): string[] {
  const shapes = Array.from({ length: 4 }, () => randomObject(random, 4))
  return Array.from({ length: count }, () =>
    random.chance(0.6) ? random.pick(shapes) : randomObject(random, 4),
  )
}

test('what lines came before does not show: one tape reads any order like fresh tapes', () => {
  let round = seed
  forMilliseconds(FUZZ_MS / 2, () => {
    const random = new Random(++round)
    const lines = someLines(random, 30)
    const shared = newTape()
    for (let pass = 0; pass < 3; pass++) {
      for (let i = lines.length - 1; i > 0; i--) {
        const j = random.below(i + 1)
        ;[lines[i], lines[j]] = [lines[j]!, lines[i]!]
      }
      const fresh = lines.map((line) => decode(newTape(), line).read[0])
      assert.deepEqual(decode(shared, lines.join('\n')).read, fresh, `round ${round}`)
    }
  })
})

test('the trie grows within one event, and starts afresh only between batches', () => {
  const tape = newTape()
  const wide = (from: number, count: number) => {
    const items = Array.from(
      { length: count },
      (_, i) => `"key${from + i}":{"é\\u0061":[{"x":${i}}]}`,
    )
    return `{${items.join(',')}}`
  }
  const known = '{"a":{"b":[1,{"c":"x"}]},"a.b":2}'
  const isRead = () => assertJudged(tape, Buffer.from(known), 'known')
  isRead()
  assertJudged(tape, Buffer.from(wide(0, 5_000)), 'wide')
  isRead()
  assert(!tape.trie.isFull)
  for (let from = 5_000; !tape.trie.isFull; from += 5_000) {
    assertJudged(tape, Buffer.from(wide(from, 5_000)), 'wider')
  }
  assert(tape.trie.count > TRIE_NODES_MAX)
  isRead()
  assert(tape.trie.count < 100, `${tape.trie.count} nodes after the reset`)
  assertJudged(tape, Buffer.from(wide(7, 3_000)), 'wide again')
  isRead()
})

interface Simdjson {
  isValid(text: string): boolean
}

function loadSimdjson(): Simdjson | undefined {
  try {
    return createRequire(import.meta.url)('simdjson') as Simdjson
  } catch {
    return undefined
  }
}

const simdjson = loadSimdjson()

test('simdjson agrees', { skip: simdjson ? false : 'simdjson is not installed' }, () => {
  let round = seed
  forMilliseconds(FUZZ_MS / 2, () => {
    const random = new Random(++round)
    const line = Buffer.from(mutate(random, Buffer.from(randomObject(random, 4))))
    // It refuses numbers that overflow a double; JSON.parse and the tape take them.
    if (!isUtf8(line) || /[\n]|\d[eE]|\d{300}/.test(line.toString())) return
    const { rejects } = decode(newTape(), line).result
    const isValid = rejects.length === 0 || rejects[0]?.code === 'not_an_object'
    assert.equal(isValid, simdjson!.isValid(line.toString()), `round ${round}: ${line}`)
  })
})
