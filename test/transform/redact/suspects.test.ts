/**
 * Goal: the kernel that chooses what redaction looks at never passes over what redaction would
 * find, and passes over most of what is harmless.
 * Method: secrets of every format in every surrounding, whole, cut and changed, in several
 * spellings: what the scanner finds in a value, its event must be a suspect for.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadCorpus } from '../../../bench/corpus.ts'
import { Random } from '../../../bench/random.ts'
import { drawText } from '../../../bench/redaction/generator.ts'
import { spellEscaped, spellPlain } from '../../../bench/redaction/measure-values.ts'
import {
  drawSecret,
  FIELD_SECRETS,
  SURROUNDINGS,
  TEXT_CREDENTIALS,
  VALUE_SECRETS,
} from '../../../bench/redaction/sets.ts'
import { decodeNdjson } from '../../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../../workers/decode/part-outcome.ts'
import { DecodedEvents } from '../../../workers/tape/decoded-events.ts'
import { JsonTape, TAPE_PADDING } from '../../../workers/tape/json-tape.ts'
import { PathTrie } from '../../../workers/tape/path-trie.ts'
import { ENTRY, ESCAPED, STRING } from '../../../workers/tape/tape-types.ts'
import { REDACTED_WHOLE, RedactKeys } from '../../../workers/transform/redact/redact-keys.ts'
import { nextSuspect } from '../../../workers/transform/redact/suspects.ts'
import { logNode } from '../../../workers/transform/rewrite/extract-log.ts'
import {
  NO_SECRET,
  SECRET_BYTES_MIN,
  SecretScanner,
} from '../../../workers/transform/secrets/secrets.ts'
import { fewest, forMilliseconds, testSeed } from '../../support/fuzzing.ts'

const FUZZ_MS = 2_000
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

/** JSON within JSON, and every other character spelled out. */
const SPELLINGS: readonly ((value: string) => string)[] = [
  (value) => JSON.stringify(value).slice(1, -1),
  (value) => JSON.stringify(JSON.stringify({ body: value })).slice(1, -1),
  (value) => JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/'),
  (value) => JSON.stringify(`line\n${value}\ttab "quoted"`).slice(1, -1),
  (value) => JSON.stringify(encodeURIComponent(value)).slice(1, -1),
  spellPlain,
  spellEscaped,
]

const tape = new JsonTape(new PathTrie())

/** For each line: whether the scanner finds a secret in a value, and whether it is a suspect. */
function judge(lines: readonly string[]) {
  const events = new DecodedEvents()
  const outcome = new PartOutcome()
  const body = Buffer.from(`${lines.join('\n')}\n`)
  const bytes = tape.begin(Buffer.concat([body, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)]))
  events.reset()
  decodeNdjson(tape, events, bytes, { start: 0, end: body.length }, outcome)
  assert.equal(outcome.accepted, lines.length)
  const keys = new RedactKeys([])
  keys.begin(tape.trie)
  const scanner = new SecretScanner()
  scanner.begin(bytes)
  const suspectKeys = { keys, special: REDACTED_WHOLE, logNode: logNode(tape.trie) }
  return lines.map((line, i) => {
    let isSecret = false
    for (let at = events.tapeStart[i]!; at < events.tapeEnd[i]!; at += ENTRY) {
      keys.flagsOf(tape.entries[at]!)
      const [start, end] = [tape.entries[at + 2]!, tape.entries[at + 3]!]
      if (end - start < SECRET_BYTES_MIN) continue
      const type = tape.entries[at + 1]
      if (type === STRING) isSecret ||= scanner.scan(start, end) !== NO_SECRET
      if (type === ESCAPED) isSecret ||= scanner.scanEscaped(start, end) !== NO_SECRET
    }
    return { line, isSecret, isSuspect: nextSuspect(tape, events, bytes, i, suspectKeys) === i }
  })
}

function drawValue(random: Random): string {
  if (random.chance(0.3)) {
    const text = drawText(random, random.pick(TEXT_CREDENTIALS))
    const cut = random.chance(0.3)
      ? text.slice(random.below(6), -random.below(6) || undefined)
      : text
    return `${'lorem ipsum dolor sit amet'.slice(0, random.below(26))}${cut}`
  }
  const secret = random.chance(0.7)
    ? drawSecret(random, random.pick([...VALUE_SECRETS.keys()]))
    : drawText(random, random.pick(FIELD_SECRETS)[2])
  const from = random.chance(0.3) ? random.below(6) : 0
  const cut = secret.slice(
    from,
    random.chance(0.3) ? from + random.below(secret.length) : undefined,
  )
  const placed = random.chance(0.7) ? random.pick(SURROUNDINGS).replace('#', () => cut) : cut
  const before = random.pick([
    '',
    ' ',
    '%20',
    '%3D',
    '\n',
    '\t',
    'Bearer ',
    'basic   ',
    '://a:b@',
    'x',
  ])
  return `${'lorem ipsum dolor sit amet'.slice(0, random.below(26))}${before}${placed}`
}

test('whatever the scanner finds is in a suspect', () => {
  let round = seed
  let found = 0
  forMilliseconds(FUZZ_MS, () => {
    const random = new Random(++round)
    const lines = Array.from({ length: 40 }, () => {
      return `{"a":1,"text":"${random.pick(SPELLINGS)(drawValue(random))}","b":["x"]}`
    })
    for (const { line, isSecret, isSuspect } of judge(lines)) {
      if (!isSecret) continue
      found++
      assert(isSuspect, `round ${round}: ${line.length} bytes with a secret passed over`)
    }
  })
  assert(found > fewest(200), `only ${found} secrets`)
})

test('a short Basic behind an escaped quote and a space is in a suspect', () => {
  const values = [
    String.raw`{\"body\":\" Basic dTo4SFBH\"}`,
    String.raw`{\"a\":\"'Basic dTo4SFBH\"}`,
    String.raw`=\"\"Basic dTo4SFBH`,
    ': Basic dTo4SFBH',
  ]
  for (const { line, isSecret, isSuspect } of judge(values.map((text) => `{"text":"${text}"}`))) {
    assert.deepEqual([isSecret, isSuspect], [true, true], line)
  }
})

test('most of usual logs is passed over', () => {
  const lines = loadCorpus({ kind: 'json', count: 2_000 })
  const suspects = judge(lines).filter(({ isSuspect }) => isSuspect).length
  assert(suspects < lines.length / 20, `${suspects} of ${lines.length}`)
})
