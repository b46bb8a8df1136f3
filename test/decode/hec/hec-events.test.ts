/**
 * Goal: what an envelope holds is in its event, whatever the spelling, the order and the names; a
 * broken envelope fails its part; nothing of one part gets into another.
 * Method: literal examples; random envelopes against a model of JSON.parse; the same with broken
 * bytes. Every event's tape is compared with that of its JSON.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DEPTH_MAX, EVENT_BYTES_MAX, HEC_GENERATED_BYTES_MAX } from '../../../src/limits.ts'
import { HEC_FAULTS } from '../../../src/model/batch/hec-part.ts'
import { cpuNow } from '../../support/cpu-time.ts'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'
import { decodeHec } from './decode-hec.ts'
import { type Judged, judgeEnvelope, splitObjects } from './hec-model.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const EXAMPLES: readonly (readonly [envelope: string, event: string])[] = [
  ['{"event":{"a":1}}', '{"a":1}'],
  ['{"event":"hello \\u2713"}', '{"message":"hello \\u2713"}'],
  ['{"event":"{\\"a\\":1}\\n"}', '{"log":"{\\"a\\":1}\\n"}'],
  ['{"event":"{ no object"}', '{"message":"{ no object"}'],
  ['{"event":42}', '{"event":42}'],
  ['{"event":[1,{"a":2}]}', '{"event":[1,{"a":2}]}'],
  ['{"event":false}', '{"event":false}'],
  [
    '{"time":1.5,"host":"h","source":"s","sourcetype":"t","index":"i","event":{"a":1}}',
    '{"a":1,"host":"h","source":"s","sourcetype":"t","index":"i"}',
  ],
  [
    '{"fields":{"x":"1","tags":["a","b"]},"event":"m","host":null}',
    '{"message":"m","x":"1","tags":["a","b"]}',
  ],
  ['{"fields":{},"event":"m","index":""}', '{"message":"m","index":""}'],
  ['{"\\u0065vent":{"a":1},"h\\u006fst":"h"}', '{"a":1,"host":"h"}'],
  ['{ "event" :\n{ "a" :\n1 } ,\r\n"host":"h"\n}', '{ "a" : 1 ,"host":"h"}'],
  // Names that recur: the event's own stay, the others are kept under `hec`.
  ['{"host":"h","event":{"host":"own","a":1}}', '{"host":"own","a":1,"hec":{"host":"h"}}'],
  ['{"host":"h","event":{"host":"h"}}', '{"host":"h"}'],
  [
    '{"source":"s","event":"m","fields":{"source":"f","message":"x","hec":1}}',
    '{"message":"m","source":"s","hec":1,"hec_":{"fields":{"source":"f","message":"x"}}}',
  ],
  [
    '{"event":"m","channel":"c","extra":{"a":[1,\n2]}}',
    '{"message":"m","hec":{"channel":"c","extra":{"a":[1, 2]}}}',
  ],
  ['{"event":"first","event":"last","host":"a","host":"b"}', '{"message":"last","host":"b"}'],
  ['{"event":{"host":"x"},"event":{"a":1},"host":"h"}', '{"a":1,"host":"h"}'],
  ['{"event":{"host":"x"},"event":"m","host":"h"}', '{"message":"m","host":"h"}'],
  ['{"event":"m","event":{"host":"x"},"host":"h"}', '{"host":"x","hec":{"host":"h"}}'],
  ['{"event":{"a":1,"a":2},"host":"h"}', '{"a":1,"a":2,"host":"h"}'],
]

test('an envelope becomes its event', () => {
  for (const [envelope, event] of EXAMPLES) {
    const { events, result } = decodeHec('hec', envelope)
    assert.deepEqual(events, [event], envelope)
    assert.deepEqual([result.items, result.acceptedBytes], [1, envelope.length])
  }
  const all = EXAMPLES.map(([envelope]) => envelope)
  const expected = EXAMPLES.map(([, event]) => event)
  assert.deepEqual(decodeHec('hec', all.join('')).events, expected)
  assert.deepEqual(decodeHec('hec', ` ${all.join('\n')}\r\n`).events, expected)
  assert.deepEqual(decodeHec('hec-array', all.join(' ,\n')).events, expected)
})

test('what is as in the envelope before is in each event, unless the event has the name', () => {
  const envelope = (event: string, time = '1.250') =>
    `{"time":${time},"host":"h","event":${event},"index":"i","fields":{"x":[1,"2"]}}`
  const tail = '"host":"h","index":"i","x":[1,"2"]'
  const cases = [
    ['{"a":1}', `{"a":1,${tail}}`],
    ['{"b":[{}]}', `{"b":[{}],${tail}}`],
    ['{"x":0}', '{"x":0,"host":"h","index":"i","hec":{"fields":{"x":[1,"2"]}}}'],
    ['{"host":"own"}', '{"host":"own","index":"i","x":[1,"2"],"hec":{"host":"h"}}'],
    ['"text"', `{"message":"text",${tail}}`],
    ['{"c":2}', `{"c":2,${tail}}`],
  ] as const
  const body = cases.map(([event], i) => envelope(event, `"${i + 1}.000000001"`)).join('')
  const { events, times } = decodeHec('hec', `${body}${envelope('{"d":3}', '7')}`)
  assert.deepEqual(events, [...cases.map(([, event]) => event), `{"d":3,${tail}}`])
  assert.deepEqual(times, [1, 2, 3, 4, 5, 6].map((s) => `${s}000000001`).concat('7000000000'))
  const own = ['{"a":1}', '"m"', '{"b":1}'].map((one) => `{"fields":{"message":0},"event":${one}}`)
  assert.deepEqual(decodeHec('hec', own.join('')).events, [
    '{"a":1,"message":0}',
    '{"message":"m","hec":{"fields":{"message":0}}}',
    '{"b":1,"message":0}',
  ])
  const taken = '{"host":"h","event":{"host":"own"}}'
  const deep = `{"event":{"a":${'['.repeat(DEPTH_MAX)}${']'.repeat(DEPTH_MAX)}}}`
  const kept = '{"host":"own","hec":{"host":"h"}}'
  assert.deepEqual(decodeHec('hec', taken + deep + taken).events, [kept, kept])
  for (const bad of ['{}', '" "', 'null']) {
    const { result } = decodeHec('hec', envelope('{"a":1}') + envelope(bad))
    assert.equal(result.fatal?.index, 1, bad)
  }
  for (const bad of ['01.000', '1.000x', '"1.000', '-1.000', '1.000e400']) {
    const { result } = decodeHec('hec', envelope('1') + envelope('2', bad))
    assert.equal(result.fatal?.index, 1, bad)
  }
})

test('what the URL says is in events that do not say it', () => {
  const options = { host: 'h "1"', index: 'i', time: '1700000000.5' }
  const { events, times } = decodeHec(
    'hec',
    '{"event":"a"}{"event":"b","host":"own","time":2}{"event":{"index":"x"}}',
    options,
  )
  assert.deepEqual(events, [
    '{"message":"a","host":"h \\"1\\"","index":"i"}',
    '{"message":"b","host":"own","index":"i"}',
    '{"index":"x","host":"h \\"1\\"","hec":{"index":"i"}}',
  ])
  assert.deepEqual(times, ['1700000000500000000', '2000000000', '1700000000500000000'])
})

const { required, blank, fields: badFields } = HEC_FAULTS
const BROKEN: readonly (readonly [string, index: number, message: string | RegExp])[] = [
  ['{"event":"a"}{"host":"h"}', 1, required.text],
  ['{"event":null}', 0, required.text],
  ['{"event":""}', 0, blank.text],
  ['{"event":" \\n\\t"}', 0, blank.text],
  ['{"event":{ }}', 0, blank.text],
  ['{"event":"a","fields":[]}', 0, badFields.text],
  ['{"event":"a","fields":"x"}', 0, badFields.text],
  ['{"event":"a","fields":{"a":{}}}', 0, badFields.text],
  ['{"event":"a","fields":{"a":{"b":1}}}', 0, badFields.text],
  ['{"event":"a","fields":{"a":[{"b":1}]}}', 0, badFields.text],
  ['{"event":"a","fields":{"a":[[]]}}', 0, badFields.text],
  ['{"event":"a","host":{}}', 0, /host, source, sourcetype and index/],
  ['{"event":"a","time":"yesterday"}', 0, /^time must be/],
  ['{"event":"a","time":-1}', 0, /^time must be/],
  ['{"event":"a","time":[]}', 0, /^time must be/],
  ['{"event":"a","time":9300000000}', 0, /^time must be/],
  ['{"event":"a"},{"event":"b"}', 1, 'an event is an object'],
  ['{"event":"a"}"b"', 1, 'an event is an object'],
  ['[{"event":"a"}]', 0, 'an event is an object'],
  ['{"event":"a"}{"event":"b"', 1, 'invalid JSON: the body ends inside a value'],
  ['{"event":"a}', 0, /^invalid JSON: /],
  ['{"event":"a"', 0, 'invalid JSON: the body ends inside a value'],
  ['{"event":01}', 0, /^invalid JSON: /],
  ['{event:1}', 0, 'invalid JSON: expected a key in double quotes'],
]

test('a broken envelope fails the part, and is named by its number', () => {
  for (const [body, index, message] of BROKEN) {
    const { events, result } = decodeHec('hec', body)
    assert.deepEqual([events, result.accepted, result.fatal?.index], [[], 0, index], body)
    if (typeof message === 'string') assert.equal(result.fatal?.message, message, body)
    else assert.match(result.fatal?.message ?? '', message, body)
  }
  for (const body of ['', ' ', '{"event":1},', ',{"event":1}', '{"event":1}{"event":2}']) {
    assert.equal(decodeHec('hec-array', body).result.fatal?.code, 'malformed', body)
  }
  assert.deepEqual(decodeHec('hec', ' \n ').events, [])
  assert.equal(decodeHec('hec', ' \n ').result.fatal, undefined)
})

test('an event that is too large or too deep is rejected alone', () => {
  const deep = (levels: number) => `{"event":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`
  const large = `{"event":"${'x'.repeat(EVENT_BYTES_MAX - 12)}"}`
  const fits = `{"event":"${'x'.repeat(EVENT_BYTES_MAX - 16)}"}`
  assert.equal(large.length, EVENT_BYTES_MAX)
  const bodies = ['{"event":1}', deep(DEPTH_MAX), large, `${large} `.replace('x', 'xx'), fits]
  bodies.push(deep(DEPTH_MAX - 1), `{"event":1,"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)
  const { events, result } = decodeHec('hec', bodies.join('\n'))
  assert.equal(result.fatal, undefined)
  assert.deepEqual(
    result.rejects.map(({ index, line, code }) => [index, line, code]),
    [
      [1, 2, 'too_deep'],
      [2, 3, 'too_large'],
      [3, 4, 'too_large'],
      [6, 7, 'too_deep'],
    ],
  )
  assert.deepEqual([events.length, events[1]?.length], [3, EVENT_BYTES_MAX - 2])
  // Too large only by what the URL adds: the next has it all the same.
  const host = 'h'.repeat(50)
  const rest = decodeHec('hec', `${fits}{"event":"a"}{"event":"b"}`, { host })
  assert.deepEqual(rest.events, [
    `{"message":"a","host":"${host}"}`,
    `{"message":"b","host":"${host}"}`,
  ])
})

test('a URL cannot make much of little', () => {
  const body = '{"event":1}'.repeat(60_000)
  const { events, result } = decodeHec('hec', body, { host: 'h'.repeat(1_000) })
  assert.deepEqual([events, result.fatal?.code], [[], 'too_large'])
  assert.match(result.fatal?.message ?? '', new RegExp(`${HEC_GENERATED_BYTES_MAX}`))
  const lines = decodeHec('hec-raw', 'x\n'.repeat(60_000), { source: 's'.repeat(1_000) })
  assert.deepEqual([lines.events, lines.result.fatal?.code], [[], 'too_large'])
})

test('a hostile body takes time by its length only', () => {
  const startedAt = cpuNow()
  const many = Array.from({ length: 50_000 }, (_, n) => `"k${n}":${n}`).join()
  decodeHec('hec', `{"event":{${many}},"fields":{${many}},"host":"h",${many}}`)
  decodeHec('hec', `{"event":1}\n`.repeat(60_000))
  decodeHec('hec', '{"fields":{"a":1},"event":{"a":2}}'.repeat(20_000))
  assert(cpuNow() - startedAt < 5_000)
})

test('lines of raw are messages', () => {
  const body = 'a "line"\r\n\n{"a":1}\n\tb\u0001\n  \nlast ✓'
  const { events, times, result } = decodeHec('hec-raw', body, { source: 's', time: '5.25' })
  assert.deepEqual(events, [
    '{"message":"a \\"line\\"","source":"s"}',
    '{"log":"{\\"a\\":1}","source":"s"}',
    '{"message":"\\tb\\u0001","source":"s"}',
    '{"message":"  ","source":"s"}',
    '{"message":"last ✓","source":"s"}',
  ])
  assert.deepEqual(new Set(times), new Set(['5250000000']))
  assert.deepEqual([result.lines, result.items], [6, 5])
  const long = decodeHec(
    'hec-raw',
    `${'\u0001'.repeat(EVENT_BYTES_MAX)}\n${'x'.repeat(EVENT_BYTES_MAX + 1)}`,
  )
  assert.deepEqual([long.result.accepted, long.result.rejects[0]?.code], [1, 'too_large'])
})

const name = fc.constantFrom('a', 'b', 'é"', '', 'host', 'index', 'hec', 'hec_', 'message', 'log')
const text = fc.constantFrom('', ' ', 'x', 'a\n"b"\\', '{"a":1}', '{', '✓😀', 'own', '\u0000')
const scalar = fc.oneof(text, fc.integer(), fc.constantFrom(0.5, 1e300, true, false, null))
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { arbitrary: scalar, weight: 3 },
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
})).value
const fields = fc.oneof(
  { arbitrary: fc.dictionary(name, scalar, { maxKeys: 4 }), weight: 9 },
  fc.dictionary(fc.constant('list'), fc.oneof(fc.array(scalar), value), { maxKeys: 1 }),
  value,
)
const time = fc.oneof(
  fc.integer({ min: 0, max: 2_000_000_000 }),
  fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => `${a}.${b}`),
  fc.bigInt({ min: 0n, max: 10n ** 19n }).map(String),
  fc.constantFrom('', 'x', '1.', '.5', '0', null, 1.25),
)
const metadata = fc.oneof({ arbitrary: text, weight: 9 }, scalar, value)
const event = fc.oneof(fc.dictionary(name, value, { minKeys: 1, maxKeys: 4 }), text, value)
const envelope = fc.record(
  {
    event,
    time,
    fields,
    host: metadata,
    source: metadata,
    sourcetype: metadata,
    index: metadata,
    other: value,
  },
  { requiredKeys: ['event'] },
)
const form = fc.tuple(
  fc.integer(),
  fc.constantFrom('', ' ', '\n'),
  fc.option(envelope, { freq: 4 }),
)
type Form = readonly [order: number, gap: string, before: object | null]
/** With its members in any order, some of them twice, on one line or several. */
function spell(one: object, [order, gap, before]: Form): string {
  const entries = Object.entries(one)
  entries.sort(([a], [b]) => ((a.charCodeAt(0) * order) % 7) - ((b.charCodeAt(0) * order) % 7))
  const overruled = before === null || order % 3 > 0 ? [] : Object.entries(before)
  const members = [...overruled, ...entries].map(
    ([key, of]) => `${gap}"${key}"${gap}:${gap}${JSON.stringify(of)}`,
  )
  return `{${members.join(`${gap},`)}${gap}}`
}
const spelled = fc.tuple(envelope, form).map(([one, as]) => spell(one, as))
/** As one sender has them: only event and time change. */
const repeated = fc
  .tuple(envelope, form, fc.array(fc.record({ event, time }, { requiredKeys: ['event'] })))
  .map(([one, as, all]) => [one, ...all].map((own) => spell({ ...one, ...own }, as)).join(''))
const body = fc
  .array(fc.tuple(fc.oneof(spelled, repeated), fc.constantFrom('', '\n', ' \r\n')), {
    minLength: 1,
    maxLength: 6,
  })
  .map((all) => all.map(([one, gap]) => one + gap).join(''))
const options = fc.record(
  { host: fc.constantFrom('h', 'own'), sourcetype: fc.constant('t'), time: fc.constant('7') },
  { requiredKeys: [] },
)

/** Compares with what the model makes of the body. */
function check(sent: string, given: object): void {
  const text = Buffer.from(sent).toString() // Without halves of letters.
  const { events, times, result } = decodeHec('hec', text, given)
  const envelopes = splitObjects(text)
  const judged: Judged[] = (envelopes ?? []).map((one) => judgeEnvelope(one, given))
  const bad = judged.findIndex((one) => typeof one === 'number')
  if (envelopes === undefined || bad >= 0) {
    assert.notEqual(result.fatal, undefined, 'must fail')
    assert.deepEqual(events, [])
    if (envelopes === undefined) return
    const known = Object.values(HEC_FAULTS).find((one) => one.text === result.fatal?.message)
    assert.deepEqual([result.fatal?.index, known?.code ?? 6], [bad, judged[bad]])
    return
  }
  assert.equal(result.fatal, undefined, result.fatal?.message)
  const expected = judged.flatMap((one) => (typeof one === 'number' ? [] : [one]))
  assert.deepEqual(
    events.map((one) => JSON.parse(one)),
    expected.map((one) => one.event),
  )
  assert.deepEqual(
    times,
    expected.map((one) => one.time),
  )
}

test('any envelopes are what JSON.parse makes of them', () => {
  fc.assert(fc.property(body, options, check), fuzzed(seed, 1_500, 2_500))
})

test('a body that is broken anywhere is taken as JSON.parse would, or not at all', () => {
  const broken = fc
    .tuple(body, fc.nat(), fc.constantFrom('', '"', '{', '}', '[', ']', ',', ':', '\\', '\n', '1'))
    .map(([good, at, piece]) => {
      const place = at % (good.length + 1)
      return good.slice(0, place) + piece + good.slice(place + (at & 1))
    })
  fc.assert(fc.property(broken, fc.constant({}), check), fuzzed(seed, 1_500, 2_500))
})
