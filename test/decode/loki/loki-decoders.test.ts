/**
 * Goal: a push request means the same in JSON and in protobuf, and what the model says; JSON is
 * judged as `JSON.parse` judges it; nothing hostile gets further than an error.
 * Method: random requests in both encodings against the model; requests cut and changed at random;
 * literal cases, with the place and the reason that a rejected entry is told with.
 */
import '../../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import snappy from 'snappyjs'
import { Random } from '../../../bench/random.ts'
import {
  BODY_BYTES_MAX,
  EVENT_BYTES_MAX,
  LOKI_PAIRS_MAX,
  OTLP_GENERATED_BYTES_MAX,
  OTLP_GENERATED_PER_BYTE_MAX,
} from '../../../src/limits.ts'
import { forMilliseconds, testSeed } from '../../support/fuzzing.ts'
import { decodeLoki, encodePush, encodePushed, type PushedStream } from './decode-loki.ts'
import { judgeDocument, type Member, type ModelStream, membersOf, textOf } from './loki-model.ts'

const seed = testSeed()
console.log(`SLUICE_TEST_SEED=${seed}`)

const NAMES = ['app', 'level', 'service_name', 'message', 'log', 'message_extracted', 'é', 'app2']
const TEXTS = [
  '',
  'plain',
  'quoted "text"\n\twith \\ and é ✓ 🎉',
  '{"a":1,"level":"warn"}',
  '{broken}',
  '{',
  '{}',
  '\u0000\u001f\u007f',
  'x'.repeat(300),
]

class RequestMaker {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  streams(): ModelStream[] {
    return this.#list(4, () => ({
      labels: this.#members(),
      entries: this.#list(6, () => ({
        nanos: this.#random.chance(0.1)
          ? 0n
          : (BigInt(this.#random.uint32()) * BigInt(this.#random.uint32())) / 3n,
        line: this.#text(),
        metadata: this.#random.chance(0.5) ? [] : this.#members(),
      })),
    }))
  }

  #members(): Member[] {
    const names = new Set(this.#list(5, () => this.#random.pick(NAMES)))
    return [...names].map((name) => [name, this.#text()])
  }

  #text(): string {
    const text = this.#random.pick(TEXTS)
    return this.#random.chance(0.5) ? text : text + this.#random.uint32()
  }

  #list<T>(below: number, make: () => T): T[] {
    return Array.from({ length: this.#random.below(below) }, make)
  }
}

/** In JSON; labels come last now and then. */
function spell(streams: readonly ModelStream[], random: Random): string {
  const all = streams.map(({ labels, entries }) => {
    const values = entries.map(({ nanos, line, metadata }) => {
      const pair = [String(nanos), line]
      return metadata.length === 0 ? pair : [...pair, Object.fromEntries(metadata)]
    })
    const stream = Object.fromEntries(labels)
    return random.chance(0.7) ? { stream, values } : { other: [1], values, stream }
  })
  return JSON.stringify({ streams: all }, undefined, random.pick([0, 1, '\t']))
}

/** Strings as Go quotes them: JavaScript's escapes of what the texts have are Go's too. */
function toPush(streams: readonly ModelStream[]): PushedStream[] {
  return streams.map(({ labels, entries }) => {
    const quoted = labels.map(([name, value]) => {
      return `${/^\w+$/.test(name) ? name : JSON.stringify(name)}=${JSON.stringify(value)}`
    })
    return {
      labels: `{${quoted.join(', ')}}`,
      entries: entries.map(({ nanos, line, metadata }) => ({
        timestamp: { seconds: nanos / 1_000_000_000n, nanos: Number(nanos % 1_000_000_000n) },
        line,
        structuredMetadata: metadata.map(([name, value]) => ({ name, value })),
      })),
    }
  })
}

test('random requests, in both encodings', () => {
  const random = new Random(seed)
  const maker = new RequestMaker(random)
  forMilliseconds(80, () => {
    const streams = maker.streams()
    const entries = streams.flatMap(({ labels, entries: all }) => {
      return all.map((entry) => ({ text: textOf(membersOf(labels, entry)), nanos: entry.nanos }))
    })
    const json = decodeLoki('loki-json', spell(streams, random))
    const protobuf = decodeLoki('loki-protobuf', encodePushed(toPush(streams)))
    for (const { events, times, result } of [json, protobuf]) {
      assert.equal(result.fatal, undefined, result.fatal?.message)
      assert.deepEqual(
        events,
        entries.map(({ text }) => text),
      )
      assert.deepEqual(
        times,
        entries.map(({ nanos }) => (nanos === 0n ? undefined : `${nanos}`)),
      )
    }
  })
})

test('JSON that was changed at random is judged as JSON.parse judges it', () => {
  const random = new Random(seed + 1)
  const maker = new RequestMaker(random)
  const pieces = ['"', '{', '}', '[', ']', ',', ':', '\\', 'null', '1', '""', 'true', ' ', '\u0001']
  forMilliseconds(80, () => {
    let text = spell(maker.streams(), random)
    for (let n = random.below(3); n >= 0; n--) {
      const at = random.below(text.length)
      const piece = random.chance(0.5) ? random.pick(pieces) : ''
      text = text.slice(0, at) + piece + text.slice(at + random.below(4))
    }
    text = Buffer.from(text).toString() // Half a surrogate pair cannot be sent.
    const { events, result } = decodeLoki('loki-json', text)
    let document: unknown
    try {
      document = JSON.parse(text)
    } catch {
      return assert.ok(result.fatal !== undefined, text)
    }
    if (result.fatal?.message.endsWith('comes twice')) return
    const judged = judgeDocument(document)
    if (judged === undefined) return assert.ok(result.fatal !== undefined, text)
    assert.equal(result.fatal, undefined, text)
    const kept = judged.filter((each) => each !== undefined)
    assert.equal(result.rejected, judged.length - kept.length, text)
    const asObjects = kept.map(({ members }) => Object.fromEntries(members))
    const wellFormed = (event: string) => JSON.parse(JSON.stringify(JSON.parse(event)))
    assert.deepEqual(events.map(wellFormed), JSON.parse(JSON.stringify(asObjects)), text)
  })
})

test('protobuf that was changed at random fails or makes events', () => {
  const random = new Random(seed + 2)
  const maker = new RequestMaker(random)
  forMilliseconds(80, () => {
    const plain = encodePush(toPush(maker.streams()))
    const bytes = random.chance(0.5) ? plain : Buffer.from(snappy.compress(plain))
    for (let n = random.below(4); n > 0 && bytes.length > 0; n--) {
      bytes[random.below(bytes.length)] = random.below(256)
    }
    const cut = random.chance(0.3) ? bytes.subarray(0, random.below(bytes.length + 1)) : bytes
    const body = random.chance(0.5) ? cut : Buffer.from(snappy.compress(cut))
    const { events, result } = decodeLoki('loki-protobuf', body)
    if (result.fatal !== undefined) assert.equal(events.length, 0)
  })
})

/** A request of one stream. */
const ofValues = (values: string, stream = '{"app":"a"}') =>
  `{"streams":[{"stream":${stream},"values":[${values}]}]}`

function reasons(body: string | Uint8Array): string[] {
  const framing = typeof body === 'string' ? 'loki-json' : 'loki-protobuf'
  const { result } = decodeLoki(framing, body)
  const { fatal, rejects } = result
  return fatal === undefined ? rejects.map(({ message }) => message) : [fatal.message]
}

test('an entry is rejected alone, with its place and the reason', () => {
  const place = (index: number) => `streams[0].values[${index}]: `
  const time = `${place(1)}the time must be a string of nanoseconds since 1970`
  const entry = `${place(1)}an entry is an array of a time, a line and perhaps structured metadata`
  const metadata = `${place(1)}structured metadata must be an object of strings`
  const cases: readonly (readonly [value: string, reason: string])[] = [
    ['["","x"]', time],
    ['["1.5","x"]', time],
    ['["-1","x"]', time],
    ['["1 ","x"]', time],
    ['[1767323045678901234,"x"]', time],
    ['["9223372036854775808","x"]', `${place(1)}the time is over 9223372036854775807 nanoseconds`],
    ['["1"]', entry],
    ['[]', entry],
    ['{}', entry],
    ['["1","x",{},1]', entry],
    ['["1",5]', `${place(1)}the line must be a string`],
    ['["1",null]', `${place(1)}the line must be a string`],
    ['["1","x",{"a":1}]', metadata],
    ['["1","x",["a"]]', metadata],
  ]
  for (const [value, reason] of cases) {
    const { events, result } = decodeLoki('loki-json', ofValues(`["1","a"],${value},["2","b"]`))
    assert.deepEqual(events, ['{"app":"a","message":"a"}', '{"app":"a","message":"b"}'], value)
    assert.deepEqual(
      result.rejects.map(({ index, message }) => [index, message]),
      [[1, reason]],
    )
  }
})

test('entries of a stream with bad labels are rejected, those of others are not', () => {
  const streams = ['{"stream":{"a":1},"values":[["1","x"],["2","y"]]}', '{"values":[["3","z"]]}']
  const body = `{"streams":[${streams.join(',')}]}`
  const { events, times, result } = decodeLoki('loki-json', body)
  assert.deepEqual([events, times], [['{"message":"z"}'], ['3']])
  assert.deepEqual(
    result.rejects.map(({ message }) => message),
    [0, 1].map((index) => `streams[0].values[${index}]: labels must be an object of strings`),
  )
  const entries = [{ timestamp: { nanos: 1 }, line: 'x' }]
  const pushed = encodePushed([
    { labels: '{a="b"', entries },
    { labels: '{a="c"}', entries },
  ])
  const other = decodeLoki('loki-protobuf', pushed)
  assert.deepEqual(other.events, ['{"a":"c","message":"x"}'])
  assert.equal(
    other.result.rejects[0]!.message,
    "streams[0].entries[0]: labels are not {name=\"value\", …}: no ',' or '}' at byte 6",
  )
})

test('what fails a request as a whole', () => {
  const cases: readonly (readonly [body: string, reason: RegExp])[] = [
    ['', /^invalid Loki JSON at byte 0: /],
    ['[]', /at byte 0: expected an object$/],
    ['{}', /^the request has no "streams"$/],
    ['{"streams":{}}', /at byte 11: "streams" must be an array$/],
    ['{"streams":[[]]}', /at byte 12: a stream must be an object$/],
    ['{"streams":[{"values":{}}]}', /"values" must be an array$/],
    ['{"streams":[],"streams":[]}', /"streams" comes twice$/],
    ['{"streams":[{"stream":{},"stream":{}}]}', /"stream" comes twice$/],
    ['{"streams":[{"values":[],"values":[]}]}', /"values" comes twice$/],
    ['{"streams":[]} x', /unexpected data after the request$/],
    [ofValues('["1","a"],["2","b'), /the body ends inside a value$/],
  ]
  for (const [body, reason] of cases) {
    const { result, events } = decodeLoki('loki-json', body)
    assert.match(result.fatal?.message ?? '', reason)
    assert.deepEqual(events, [])
  }
  for (const body of [
    '{"streams":[]}',
    '{"streams":null}',
    ofValues(''),
    '{"str\\u0065ams":[{}]}',
  ]) {
    assert.equal(decodeLoki('loki-json', body).result.fatal, undefined, body)
  }
})

test('what fails protobuf as a whole, with the place', () => {
  const compressed = (...bytes: number[]) => Buffer.from(snappy.compress(Uint8Array.from(bytes)))
  const cases: readonly (readonly [body: Buffer, reason: string])[] = [
    [Buffer.alloc(0), 'invalid snappy at byte 0: no length'],
    [Buffer.from('plain text'), 'invalid snappy at byte 1: it ends inside an element'],
    [compressed(0x0a, 5, 0x0a), 'a field is longer than the message around it'],
    [compressed(0x0a, 0x80), 'the data ends inside a field'],
    [compressed(0x02, 1), 'a tag of no field'],
    [compressed(0x0b), 'a field of an unknown wire type'],
    [compressed(...new Array(11).fill(0xff)), 'a number does not end'],
  ]
  for (const [body, reason] of cases) {
    const [message] = reasons(body)
    assert.ok(message?.endsWith(reason), `${message}, not ${reason}`)
  }
})

test('times of protobuf that are none, and the last one there is', () => {
  const [low, high] = [{ seconds: -1 }, { seconds: 9_223_372_036, nanos: 854_775_808 }]
  const last = { seconds: 9_223_372_036, nanos: 854_775_807 }
  for (const timestamp of [low, high, { nanos: -1 }, { nanos: 1_000_000_000 }]) {
    const body = encodePushed([{ entries: [{ timestamp, line: 'x' }] }])
    assert.match(reasons(body)[0]!, /^streams\[0\]\.entries\[0\]: the time is before 1970, /)
  }
  const entries = [{ timestamp: last }, { timestamp: { seconds: 0 } }, {}]
  const { times, events } = decodeLoki('loki-protobuf', encodePushed([{ entries }]))
  assert.deepEqual(times, ['9223372036854775807', undefined, undefined])
  assert.deepEqual(events, new Array(3).fill('{"message":""}'))
  const json = decodeLoki('loki-json', ofValues('["9223372036854775807","x"],["0","x"]'))
  assert.deepEqual(json.times, ['9223372036854775807', undefined])
})

test('lines and labels that are too large, and too many labels', () => {
  const large = 'x'.repeat(EVENT_BYTES_MAX)
  const tooLarge = `event is over ${EVENT_BYTES_MAX} bytes (EVENT_BYTES_MAX)`
  // The labels were written with the event that is dropped: the next one writes them again.
  const { events, result } = decodeLoki('loki-json', ofValues(`["1","${large}"],["2","b"]`))
  assert.deepEqual(events, ['{"app":"a","message":"b"}'])
  assert.equal(result.rejects[0]!.message, `streams[0].values[0]: ${tooLarge}`)
  assert.equal(
    reasons(ofValues('["1","a"]', `{"a":"${large}"}`))[0],
    `streams[0].values[0]: ${tooLarge}`,
  )
  const names = Array.from({ length: LOKI_PAIRS_MAX + 1 }, (_, i) => `"n${i}":"v"`)
  const many = `over ${LOKI_PAIRS_MAX}`
  assert.ok(reasons(ofValues('["1","a"]', `{${names.join(',')}}`))[0]!.includes(many))
  assert.ok(reasons(ofValues(`["1","a",{${names.join(',')}}]`))[0]!.includes(many))
  const most = decodeLoki('loki-json', ofValues('["1","a"]', `{${names.slice(1).join(',')}}`))
  assert.equal(Object.keys(JSON.parse(most.events[0]!)).length, LOKI_PAIRS_MAX + 1)
  const labels = `{${names.join(',').replaceAll(/"(n\d+)":/g, '$1=')}}`
  assert.ok(reasons(encodePushed([{ labels, entries: [{}] }]))[0]!.includes(many))
  const structuredMetadata = names.map((_, i) => ({ name: `n${i}`, value: 'v' }))
  const pushed = encodePushed([{ entries: [{ structuredMetadata }] }])
  assert.ok(reasons(pushed)[0]!.includes(many))
})

test('lines for which labels leave too little room, however much that is', () => {
  const entries = [{ line: 'x'.repeat(10_000) }, { line: 'short' }]
  for (let room = 3_000; room <= 24_000; room += 700) {
    const labels = `{a="${'y'.repeat(EVENT_BYTES_MAX - room)}"}`
    const { events, result } = decodeLoki('loki-protobuf', encodePushed([{ labels, entries }]))
    const fits = room > 10_100
    assert.equal(events.length, fits ? 2 : 1, `${room}`)
    assert.ok(events.at(-1)!.endsWith('"message":"short"}'))
    assert.deepEqual(
      result.rejects.map(({ code }) => code),
      fits ? [] : ['too_large'],
    )
  }
})

test('labels that would be copied into very many events', () => {
  const makeBody = (labelBytes: number) => {
    const values = new Array(8_000).fill('["1",""]').join(',')
    return ofValues(values, `{"a":"${'x'.repeat(labelBytes)}"}`)
  }
  const small = makeBody(1_000)
  const perByte = OTLP_GENERATED_PER_BYTE_MAX
  const share = small.length * perByte
  for (const [body, message] of [
    [makeBody(800_000), `${OTLP_GENERATED_BYTES_MAX} bytes (OTLP_GENERATED_BYTES_MAX)`],
    [small, `${share} bytes (${perByte} times the request, OTLP_GENERATED_PER_BYTE_MAX)`],
  ] as const) {
    const { result, events } = decodeLoki('loki-json', body)
    assert.deepEqual([result.fatal?.code, events], ['too_large', []])
    assert.equal(result.fatal?.message, `events with their labels are over ${message}`)
  }
})

test('a length over the limit is refused before anything is allocated', () => {
  const length = [0x81, 0x80, 0x80, 0x05] // 10 MiB and a byte
  const { result } = decodeLoki('loki-protobuf', Uint8Array.from([...length, 0, 0]))
  const message = `decompressed body is over ${BODY_BYTES_MAX} bytes (BODY_BYTES_MAX)`
  assert.deepEqual([result.fatal?.code, result.fatal?.message], ['too_large', message])
})

test('bad UTF-8 in protobuf is repaired, and counted by events', () => {
  const bad = Uint8Array.of(0x61, 0xff)
  const entries = [{ line: 'x' }, { line: bad }, { line: 'y' }]
  const one = decodeLoki('loki-protobuf', encodePushed([{ labels: '{a="b"}', entries }]))
  assert.equal(one.events[1], '{"a":"b","message":"a\ufffd"}')
  assert.equal(one.result.repaired, 1)
  const labels = '{a="\\xff\\xc3\\xa9"}'
  const all = decodeLoki('loki-protobuf', encodePushed([{ labels, entries }]))
  assert.deepEqual(all.events.slice(0, 1), ['{"a":"\ufffdé","message":"x"}'])
  assert.equal(all.result.repaired, 3)
})

test('bytes are shared by the entries, as decompressed', () => {
  const entries = [{ line: 'a' }, { line: 'b' }]
  const plain = encodePush([{ entries }])
  assert.equal(
    decodeLoki('loki-protobuf', encodePushed([{ entries }])).result.acceptedBytes,
    plain.length,
  )
  const body = ofValues('["1","a"],["x","a"]')
  assert.equal(decodeLoki('loki-json', body).result.acceptedBytes, Math.round(body.length / 2))
})
