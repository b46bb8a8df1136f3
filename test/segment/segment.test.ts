/**
 * Goal: a segment gives back the events that went in, a line each, and their explicit times.
 * Method: batches of every framing through the pipeline; the payload is decoded by brotli and the
 * documented header, and by our own reader.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import fc from 'fast-check'
import { joinLines, loadCorpus } from '../../bench/corpus.ts'
import { BLOCK_PATHS_MAX } from '../../src/limits.ts'
import { NativeBlockEncoder } from '../../workers/block/native-block.ts'
import { tapeSource } from '../../workers/block/native-json.ts'
import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { EventFacts, SOURCE_OTLP } from '../../workers/facts/event-facts.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { PayloadDecoder } from '../../workers/segment/payload-decoder.ts'
import { decodeSegment, SegmentEncoder } from '../../workers/segment/segment.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import {
  documentTree,
  type ObjectTree,
  render,
  scalarTree,
  type Tree,
} from '../block/value-trees.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { batchOf } from '../workers/batch-of.ts'
import { readPayload } from './document-reader.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const pipeline = new IngestPipeline()
const decoder = new PayloadDecoder(new JsonTape(new PathTrie()))

function storedLines(body: string, framing: string): string[] {
  const lines = pipeline.run(batchOf(body, framing)).segments.map(({ payload }) => {
    const text = decodeSegment(payload).text.toString()
    assert(text.endsWith('\n'))
    return text.slice(0, -1)
  })
  return lines.join('\n').split('\n')
}

test('NDJSON comes back line by line, without blank and rejected lines', () => {
  const event = documentTree.map(render)
  const junk = fc.constantFrom('', ' ', '\t\r', '{"a":', '7', '[{}]')
  const line = fc.oneof(
    { arbitrary: event, weight: 3 },
    { arbitrary: event.map((text) => ` ${text}\t`), weight: 1 },
    { arbitrary: junk, weight: 1 },
  )
  const end = fc.constantFrom('\n', '\n', '\n', '\r\n')
  fc.assert(
    fc.property(event, fc.array(fc.tuple(line, end), { maxLength: 10 }), (first, rest) => {
      const lines = rest.map(([text]) => text.trim()).filter((text) => text.endsWith('}'))
      const body = `${first}\n${rest.flat().join('')}`
      assert.deepEqual(storedLines(body, 'ndjson'), [first, ...lines])
    }),
    fuzzed(seed, 500, 700),
  )
})

test('a segment of long texts is compressed over all of it', () => {
  const text = joinLines(loadCorpus({ kind: 'text', count: 3_000 }))
  const [segment] = pipeline.run(batchOf(text.toString(), 'text')).segments
  const params = { [constants.BROTLI_PARAM_QUALITY]: 1 }
  // A window of 64 KiB, as segments of many small columns have it, takes 5 per cent more.
  assert(segment!.payload.length < 1.02 * brotliCompressSync(text, { params }).length)
})

/** `tree` with each scalar replaced. */
function withValues(tree: Tree, next: (old: Tree) => Tree): Tree {
  if (tree.kind === 'array') {
    return { kind: 'array', items: tree.items.map((item) => withValues(item, next)) }
  }
  if (tree.kind !== 'object') return next(tree)
  const entries = tree.entries.map(([key, value]) => [key, withValues(value, next)] as const)
  return { kind: 'object', entries }
}

/** Keys twice, dotted beside nested, spelled in two ways: what one column cannot tell apart. */
const TWICE: readonly (readonly [string, Tree])[] = [
  ['a.b', { kind: 'number', text: '1' }],
  ['a', { kind: 'object', entries: [['b', { kind: 'number', text: '2' }]] }],
  ['\\u0061', { kind: 'string', text: '' }],
  ['c', { kind: 'literal', text: 'null' }],
  ['c', { kind: 'array', items: [] }],
]

const recurring = fc
  .tuple(
    fc.array(documentTree, { minLength: 1, maxLength: 4 }),
    fc.array(fc.constantFrom(...TWICE), { maxLength: 3 }),
    fc.array(scalarTree, { minLength: 1, maxLength: 12 }),
    fc.array(fc.nat(3), { minLength: 8, maxLength: 60 }),
  )
  .map(([documents, twice, values, picks]) => {
    const shapes = [...documents, { kind: 'object', entries: twice } as ObjectTree]
    let at = 0
    return picks.map((pick, i) => {
      const shape = shapes[pick % shapes.length]!
      return render(
        withValues(shape, (old) => {
          // Mostly of the same kind, so that the events have one template.
          const value = values[(at++ * 7 + i) % values.length]!
          return value.kind === old.kind && old.kind !== 'literal' ? value : old
        }),
      )
    })
  })

test('recurring events, which are stored by columns, come back byte for byte', () => {
  let columns = 0
  let count = 0
  fc.assert(
    fc.property(recurring, fc.constantFrom('\n', '\n', ' \r\n', '\n\n'), (lines, end) => {
      const [segment] = pipeline.run(batchOf(lines.join(end))).segments
      assert.deepEqual(decodeSegment(segment!.payload).text.toString().split('\n'), [...lines, ''])
      const documented = readPayload(Buffer.from(segment!.payload)).map(({ text }) => text)
      assert.deepEqual(documented, lines)
      columns += (segment!.payload[1]! >> 1) & 1
      count++
    }),
    fuzzed(seed, 2_000, 1_500),
  )
  // On a busy machine time may be up before there were enough to tell.
  const isBoth = columns > count / 4 && columns < count
  assert(isBoth || count < 200, `${columns} of ${count} were stored by columns`)
})

test('spaces inside events, many columns and values of every length come back too', () => {
  const bodies = [
    Array.from({ length: 40 }, (_, i) => `{ "a" : "${'x'.repeat(i * 5)}" ,\t"b":[ ${i} ] }`),
    Array.from(
      { length: 200 },
      (_, i) => `{"a":"","b":"${'é'.repeat(i % 7)}","c":${'9'.repeat((i % 60) + 1)}}`,
    ),
    Array.from({ length: 9 }, (_, i) => {
      const entries = Array.from({ length: BLOCK_PATHS_MAX + 20 }, (_, k) => `"k${k}":${k * i}`)
      return `{${entries.join(',')}}`
    }),
    Array.from({ length: 300 }, (_, i) => `{"k${i % 60}":${i},"s":"v"}`),
    Array.from({ length: 300 }, (_, i) => `{"k${i % 70}":${i},"s":"v"}`),
  ]
  for (const lines of bodies) assert.deepEqual(storedLines(lines.join('\n'), 'ndjson'), lines)
  const document = `[${bodies[1]!.join(',\n')}]`.slice(1, -1)
  assert.deepEqual(storedLines(document, 'array'), bodies[1])
})

test('arrays, documents over several lines and text are lines too', () => {
  assert.deepEqual(storedLines('{"a":1},{"b":\n2} , 7,\n{"c":3}', 'array'), [
    '{"a":1}',
    '{"b": 2}',
    '{"c":3}',
  ])
  assert.deepEqual(storedLines('{\n"a":\n[1,\n2]}', 'document'), ['{ "a": [1, 2]}'])
  assert.deepEqual(storedLines('x"y\n\n\\z\r\n', 'text'), [
    '{"message":"x\\"y"}',
    '{"message":"\\\\z"}',
  ])
})

test('the bytes are as documented: format, flags, length, brotli', () => {
  const [segment] = pipeline.run(batchOf('{"a":1}\n{"b":"é"}')).segments
  const payload = Buffer.from(segment!.payload)
  const text = '{"a":1}\n{"b":"é"}\n'
  assert.deepEqual([payload[0], payload[1]], [2, 0])
  assert.equal(payload.readUInt32LE(2), Buffer.byteLength(text))
  assert.equal(brotliDecompressSync(payload.subarray(6)).toString(), text)
  assert.equal(segment!.rawBytes, Buffer.byteLength(text))
})

/** Segments of events whose producer times are not in their text, as OTLP's are. */
function withTimes(texts: readonly string[], otlp: readonly (number | undefined)[]) {
  const body = Buffer.from(texts.join('\n'))
  const bytes = Buffer.concat([body, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)])
  const tape = new JsonTape(new PathTrie())
  const events = new DecodedEvents()
  events.reset()
  tape.begin(bytes)
  decodeNdjson(tape, events, bytes, { start: 0, end: body.length }, new PartOutcome())
  const facts = new EventFacts()
  facts.describe(tape, bytes, events)
  for (const [i, ms] of otlp.entries()) {
    if (ms === undefined) continue
    facts.timeSource[i] = SOURCE_OTLP
    facts.timeMs[i] = ms
    facts.timeNanos[i] = i
  }
  const source = tapeSource(bytes, tape)
  const blocks = new NativeBlockEncoder()
  const encoder = new SegmentEncoder()
  return (first: number, count: number) => {
    const range = { first, count }
    const index = blocks.index(source, events, facts, range)
    return decodeSegment(encoder.encode(source, index, events, facts, range))
  }
}

test('explicit times are kept for the events that have them, in their range', () => {
  const texts = Array.from({ length: 12 }, (_, i) => `{"a":${i}}`)
  const times = [1, undefined, -3_000, 1_767_323_045_678]
  const decode = withTimes(texts, times)
  for (const count of [3, 11]) {
    const { text, times: kept } = decode(1, count)
    assert.deepEqual(text.toString().split('\n').slice(0, -1), texts.slice(1, 1 + count))
    assert.deepEqual(
      [...kept],
      [
        [1, { ms: -3_000, nanos: 2 }],
        [2, { ms: 1_767_323_045_678, nanos: 3 }],
      ],
    )
  }
  assert.deepEqual([...decode(1, 1).times], [])
})

test('an encoder gives back each segment whatever it encoded before', () => {
  const bodies = ['{"a":1} \n\n{"b":2}', `{"a":"${'x'.repeat(200_000)}"} \n{}`, '{"c":3} ']
  for (const body of [...bodies, ...bodies.reverse()]) {
    const expected = body
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    assert.deepEqual(storedLines(body, 'ndjson'), expected)
  }
})

test('a given buffer is used when the segment fits, and left alone when it does not', () => {
  const numbers = Array.from({ length: 99 }, (_, i) => (i * 7) % 90)
  const body = `{"a":"${Buffer.from(numbers).toString('hex')}"}`
  const [own] = new IngestPipeline().run(batchOf(body)).segments
  const { payload, block } = own!
  for (const room of [0, -1, 5]) {
    const output = {
      payload: new Uint8Array(payload.length + room),
      block: new Uint8Array(block.bytes.length + room),
    }
    const [given] = new IngestPipeline().run(batchOf(body), output).segments
    assert.deepEqual(Buffer.from(given!.payload), Buffer.from(payload))
    assert.deepEqual(Buffer.from(given!.block.bytes), Buffer.from(block.bytes))
    assert.equal(given!.payload.buffer === output.payload.buffer, room >= 0)
  }
})

test('a format that is not known is named', () => {
  const payload = Buffer.from(pipeline.run(batchOf('{"a":1}')).segments[0]!.payload)
  for (const format of [0, 1, 4, 255]) {
    const message = `segment format ${format} is not known`
    assert.throws(() => decodeSegment(Buffer.from(payload).fill(format, 0, 1)), { message })
  }
  const message = 'segment flags 0 are not known in format 3'
  assert.throws(() => decodeSegment(Buffer.from(payload).fill(3, 0, 1)), { message })
})

test('damaged payloads are refused, not misread', () => {
  const payload = Buffer.from(pipeline.run(batchOf('{"a":1}\n{"b":2}')).segments[0]!.payload)
  const damaged = (change: (copy: Buffer) => Uint8Array) => {
    assert.throws(() => decodeSegment(change(Buffer.from(payload))))
  }
  damaged((copy) => copy.subarray(0, copy.length - 3))
  damaged((copy) => copy.fill(1, 2, 3))
  damaged((copy) => copy.fill(255, 2, 3))
  damaged(() => new Uint8Array(0))
})

/** A payload of such parts, as the page says. */
function payloadOf(flags: number, textBytes: number, sections: readonly Buffer[], text: Buffer) {
  const length = (bytes: number) => Buffer.of(bytes, bytes >> 8, bytes >> 16, bytes >> 24)
  const stored = sections.flatMap((section) => [length(section.length), section])
  const head = Buffer.concat([Buffer.of(2, flags), length(textBytes), ...stored])
  return Buffer.concat([head, brotliCompressSync(text)])
}

test('what contradicts itself is refused by its name, by the reader of the page too', () => {
  const refused = (payload: Buffer, message: RegExp) => {
    assert.match(decoder.decode(payload) ?? 'not refused', message)
    assert.throws(() => readPayload(payload), message.source)
  }
  const text = Buffer.from('{"a":1}\n{}\n')
  const time = (ordinal: number, ms = 5, nanos = 6) => {
    const bytes = Buffer.alloc(16)
    bytes.writeUInt32LE(ordinal, 0)
    bytes.writeDoubleLE(ms, 4)
    bytes.writeUInt32LE(nanos, 12)
    return bytes
  }
  const timed = (times: Buffer) => payloadOf(1, text.length, [times], text)
  assert.equal(decoder.decode(timed(Buffer.concat([time(0), time(1)]))), undefined)
  refused(timed(Buffer.alloc(0)), /an empty section/)
  refused(timed(time(0).subarray(1)), /part of an explicit time/)
  refused(timed(time(2)), /a time of an event that it lacks/)
  for (const wrong of [time(0, 0.5), time(0, Number.NaN), time(0, 1e13), time(0, 1, 1_000_000)]) {
    refused(timed(wrong), /an explicit time that is none/)
  }
  refused(timed(Buffer.concat([time(1), time(0)])), /an explicit time that is none/)
  refused(payloadOf(8, text.length, [], text), /flags 8 are not known/)
  refused(payloadOf(4, text.length, [text], text), /packs columns and has none/)
  refused(payloadOf(0, text.length + 1, [], text), /cut short/)
  refused(payloadOf(0, text.length - 1, [], text), /does not decompress/)
  refused(payloadOf(0, 2, [], Buffer.from('{}')), /no whole line/)
  refused(payloadOf(0, 0, [], Buffer.alloc(0)), /no whole line/)
  refused(Buffer.concat([payloadOf(0, text.length, [], text), text]), /behind its end/)
})

test('a column layout that contradicts itself is refused by its name', () => {
  const column = (values: string) => {
    const size = Buffer.alloc(4)
    size.writeUInt32LE(values.length)
    return { size, bytes: Buffer.concat([Buffer.from(values), Buffer.alloc(8)]) }
  }
  // One template, {"a":<column 0>}, and two events.
  const layout = (change: {
    kind?: number
    values?: string
    behind?: string
    count?: readonly number[]
  }) => {
    const { kind = 0, values = '1\n2\n', behind = '', count = [1] } = change
    const [own, raw] = [column(values), column('')]
    const template = Buffer.concat([
      Buffer.of(kind, 0, 5),
      Buffer.from('{"a":'),
      Buffer.from('\x01}'),
    ])
    const parts = [Buffer.of(...count, 1), template, Buffer.of(2, 1), own.size, raw.size]
    const bytes = Buffer.concat([...parts, own.bytes, raw.bytes, Buffer.from(behind)])
    return payloadOf(2, 16, [], bytes)
  }
  assert.equal(decoder.decode(layout({})), undefined)
  assert.deepEqual(readPayload(layout({})), [{ text: '{"a":1}' }, { text: '{"a":2}' }])
  const cases = [
    [{ kind: 1 }, /a template that is none/],
    [{ kind: 2 }, /a template that is none/],
    [{ behind: 'x' }, /bytes behind its end/],
    [{ values: '1\n2\n3\n' }, /a value that no event has/],
    [{ values: '1\n2' }, /cut short/],
    [{ values: '1\n' }, /cut short/],
    [{ count: [0x81, 0x80, 0x80, 0x80, 0x80, 0] }, /a number that is too long/],
  ] as const
  for (const [change, message] of cases) {
    assert.match(decoder.decode(layout(change)) ?? 'not refused', message)
    assert.throws(() => readPayload(layout(change)), message.source)
  }
})
