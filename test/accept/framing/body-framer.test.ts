/**
 * Goal: where the network cuts a body, and where we cut it into batches, never shows in what a
 * client sees or what is stored.
 * Method: bodies of every framing, good and bad, whole and in random chunks, with batches from a
 * few bytes to the real target, through the framer and the worker's code; each compared with a
 * model that judges the whole body with JSON.parse.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { WholePart } from '../../../src/accept/framing/body-format.ts'
import type { FramerSink } from '../../../src/accept/framing/body-framer.ts'
import { OtlpFramer } from '../../../src/accept/surfaces/otlp/otlp-framer.ts'
import { BatchBuffers } from '../../../src/bytes/batch-buffers.ts'
import { IngestError } from '../../../src/errors.ts'
import {
  BATCH_BYTES_TARGET,
  BODY_AHEAD_BYTES,
  BODY_BYTES_MAX,
  EVENT_BYTES_MAX,
} from '../../../src/limits.ts'
import { cpuNow } from '../../support/cpu-time.ts'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'
import { cutAt, FORMATS, type FormatName, frameBody, type Outcome } from './frame-body.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

type Judged = Omit<Outcome, 'parts' | 'fatal'> & { readonly isFatal: boolean }

const REFUSED: Judged = { events: [], accepted: 0, rejected: 0, errors: [], isFatal: true }

function isObject(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function judged(events: readonly string[], errors: readonly string[]): Judged {
  return { events, accepted: events.length, rejected: errors.length, errors, isFatal: false }
}

/** What JSON.parse makes of each line. */
function judgeLines(body: string): Judged {
  const events: string[] = []
  const errors: string[] = []
  for (const [i, line] of body.split('\n').entries()) {
    const text = line.replace(/^[ \t\r]+|[ \t\r]+$/g, '')
    if (text === '') continue
    const at = `${events.length + errors.length} ${i + 1}`
    try {
      if (isObject(JSON.parse(text))) events.push(text)
      else errors.push(`${at} not_an_object`)
    } catch {
      errors.push(`${at} malformed`)
    }
  }
  return judged(events, errors)
}

/** What JSON.parse makes of an array or document; events are compared by value. */
function judgeWhole(body: string): Judged {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return REFUSED
  }
  const events: string[] = []
  const errors: string[] = []
  for (const [i, element] of (Array.isArray(value) ? value : [value]).entries()) {
    if (isObject(element)) events.push(JSON.stringify(element))
    else errors.push(`${i} not_an_object`)
  }
  return judged(events, errors)
}

function judgeText(body: string): Judged {
  const lines = body.split('\n').map((line) => line.replace(/\r$/, ''))
  return judged(
    lines.filter((line) => line !== '').map((message) => JSON.stringify({ message })),
    [],
  )
}

/** The outcome without the number of parts and the words of a refusal. */
function seen({ parts: _parts, fatal, ...rest }: Outcome): Judged {
  return { ...rest, isFatal: fatal !== undefined }
}

/** In the form of `judgeWhole`: no lines, events by value. */
function byValue(outcome: Judged): Judged {
  const events = outcome.events.map((text) => JSON.stringify(JSON.parse(text)))
  const errors = outcome.errors.map((error) => error.replace(/ \d+ /, ' '))
  return { ...outcome, events, errors }
}

const bytesOf = (text: string) => Buffer.from(text)
const wholeJson = (bytes: Uint8Array): WholePart | IngestError => {
  return FORMATS.json.whole(bytes, undefined)
}
const piece = fc.constantFrom('{"a":1}', '{"b":"x,y]\\"\\\\"}', '{"é":[{"c":[1,2]},{}]}', '{}')
const oddPiece = fc.constantFrom(
  '1',
  '"s,\\""',
  'null',
  '[1,{"a":2}]',
  '{"a":',
  '}',
  ']',
  '"',
  'x',
  '',
)
const anyPiece = fc.oneof({ arbitrary: piece, weight: 6 }, { arbitrary: oddPiece, weight: 1 })
const gap = fc.constantFrom('', '', '', ' ', '\t', '\r')
const newLine = fc.constantFrom('\n', '\n', '\r\n', '\n\n', '\n \n')
const cuts = fc.array(fc.nat(400), { maxLength: 12 })
/** Stands for the Content-Length, which sizes the batches. */
const declared = fc.integer({ min: 1, max: 60 })

const lineBody = fc
  .tuple(fc.array(fc.tuple(gap, anyPiece, gap, newLine), { maxLength: 12 }), anyPiece)
  .map(([lines, last]) => lines.flat().join('') + last)

/** Arrays over lines, now and then broken somewhere. */
function arrayBody(item: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const space = fc.constantFrom('', '', ' ', '\n', '\r\n\t')
  const element = fc.tuple(space, item, space).map((parts) => parts.join(''))
  return fc
    .tuple(
      space,
      fc.array(element, { maxLength: 12 }),
      fc.constantFrom(']', ']', ']', ']\n', '', ',]'),
    )
    .map(([before, elements, end]) => `${before}[${elements.join(',')}${end}`)
}

function assertCutsDoNotShow(
  kind: FormatName,
  body: fc.Arbitrary<string>,
  compare: (body: string, outcome: Judged) => void,
): void {
  const property = fc.property(body, cuts, declared, (text, offsets, declaredBytes) => {
    const bytes = bytesOf(text)
    const whole = seen(frameBody(kind, [bytes]))
    compare(text, whole)
    const chunks = cutAt(bytes, offsets)
    assert.deepEqual(seen(frameBody(kind, chunks)), whole, 'cut by the network')
    assert.deepEqual(seen(frameBody(kind, chunks, { declaredBytes })), whole, 'cut into batches')
    const singles = Array.from(bytes, (byte) => Uint8Array.of(byte))
    assert.deepEqual(seen(frameBody(kind, singles, { declaredBytes })), whole, 'byte by byte')
  })
  fc.assert(property, fuzzed(seed, 2_000, 450))
}

test('NDJSON does not depend on cuts and is judged line by line', () => {
  assertCutsDoNotShow('ndjson', lineBody, (text, outcome) => {
    assert.deepEqual(outcome, judgeLines(text))
  })
})

test('text does not depend on cuts: each non-empty line is a message', () => {
  const line = fc.oneof(
    anyPiece,
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.constant('\u001b[0m'),
  )
  const body = fc
    .array(fc.tuple(line, newLine), { maxLength: 12 })
    .map((lines) => lines.flat().join(''))
  assertCutsDoNotShow('text', body, (text, outcome) => {
    assert.deepEqual(byValue(outcome), judgeText(text))
  })
})

test('arrays do not depend on cuts and are judged as a whole', () => {
  const body = fc.oneof(arrayBody(piece), arrayBody(anyPiece))
  assertCutsDoNotShow('json', body, (text, outcome) => {
    assert.deepEqual(byValue(outcome), judgeWhole(text))
  })
})

test('documents over several lines do not depend on cuts', () => {
  const body = fc
    .tuple(fc.constantFrom('', '\n', ' '), fc.array(anyPiece, { maxLength: 5 }), fc.boolean())
    .map(([before, items, isClosed]) => {
      const entries = items.map((item, i) => `\n "k${i}":\r\n${item}`)
      const members = entries.map((entry) => `,${entry}`).join('')
      return `${before}{\n"n":1${members}${isClosed ? '\n}' : ''}`
    })
  assertCutsDoNotShow('json', body, (text, outcome) => {
    assert.deepEqual(byValue(outcome), judgeWhole(text))
  })
})

test('application/json with one object per line is NDJSON', () => {
  for (const body of [
    '{"a":1}\n{"b":2}',
    '{"a":1}',
    '\n{"a":1}\r\n\n{"b":',
    '1\n{"a":1}',
    '',
    ' \n ',
  ]) {
    const expected = judgeLines(body)
    assert.deepEqual(seen(frameBody('json', [bytesOf(body)])), expected, body)
  }
})

test('an array that ends where a batch was cut is not closed', () => {
  const element = '{"a":1},'
  for (const count of [1, 2, 3]) {
    for (const end of ['', ' ', '\n']) {
      const body = `[${element.repeat(count)}${end}`
      const singles = Array.from(bytesOf(body), (byte) => Uint8Array.of(byte))
      const outcome = frameBody('json', singles, { declaredBytes: element.length })
      assert.notEqual(outcome.fatal, undefined, JSON.stringify(body))
    }
  }
})

test('lines of rejects count from the body, wherever the array starts and was cut', () => {
  const body = '\n\n[\n{"a":1},\n7,\n\n{"b":2}, "x"\n,\n[]]'
  for (const declaredBytes of [1, 9, 17, 1_000]) {
    const { errors } = frameBody('json', [bytesOf(body)], { declaredBytes })
    assert.deepEqual(errors, ['1 5 not_an_object', '3 7 not_an_object', '4 9 not_an_object'])
  }
})

test('a body far over BATCH_BYTES_TARGET becomes several batches of about that size', () => {
  const event = `{"message":"${'x'.repeat(500)}"}`
  const count = Math.ceil((3.2 * BATCH_BYTES_TARGET) / event.length)
  const events = Array.from({ length: count }, (_, i) => `${event.slice(0, -2)}${i}"}`)
  for (const [kind, body] of [
    ['ndjson', events.join('\n')],
    ['json', `[${events.join(',\n')}]`],
    ['text', events.join('\r\n')],
  ] as const) {
    for (const [declaredBytes, parts] of [
      [0, [4]],
      [body.length, [4, 5]],
    ] as const) {
      const outcome = frameBody(kind, cutAt(bytesOf(body), [1, 70_000, 800_000, 2e6]), {
        declaredBytes,
      })
      assert.equal(outcome.accepted, count, kind)
      assert(
        parts.some((expected) => expected === outcome.parts),
        `${kind}: ${outcome.parts} parts`,
      )
      const message =
        kind === 'text' ? JSON.stringify({ message: events[count - 1] }) : events[count - 1]
      assert.equal(outcome.events.at(-1), message)
    }
  }
})

test('an event longer than a batch is kept whole, up to EVENT_BYTES_MAX', () => {
  const event = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`
  const lines = [
    event(EVENT_BYTES_MAX),
    event(EVENT_BYTES_MAX + 1),
    event(BATCH_BYTES_TARGET + 1),
    '{}',
  ]
  const chunks = (body: string) => cutAt(bytesOf(body), [65_536, 131_072, 900_000, 2_000_000])
  const ndjson = frameBody('ndjson', chunks(lines.join('\n')))
  assert.deepEqual(ndjson.errors, ['1 2 too_large'])
  assert.deepEqual(ndjson.events, [lines[0], lines[2], lines[3]])
  const array = frameBody('json', chunks(`[${lines.join(',\n')}]`))
  assert.deepEqual(array.errors, ['1 2 too_large'])
  assert.deepEqual(array.events, [lines[0], lines[2], lines[3]])
  const message = (bytes: number) => 'm'.repeat(bytes)
  const text = frameBody(
    'text',
    chunks(`${message(EVENT_BYTES_MAX + 1)}\n${message(EVENT_BYTES_MAX)}`),
  )
  assert.deepEqual([text.accepted, text.errors], [1, ['0 1 too_large']])
})

test('a body of BODY_BYTES_MAX with no place to cut fits', () => {
  const body = Buffer.alloc(BODY_BYTES_MAX, 'x')
  const outcome = frameBody('ndjson', cutAt(body, [65_536, 1_000_000, 1_500_000, 4_000_000]))
  assert.deepEqual([outcome.parts, outcome.errors], [1, ['0 1 too_large']])
})

test('a body whose framing is not known yet is not searched again with each chunk', () => {
  for (const fill of [' ', 'x']) {
    const chunk = Buffer.alloc(1_400, fill)
    const startedAt = cpuNow()
    const chunks = Array.from({ length: Math.floor(BODY_BYTES_MAX / 1_400) }, () => chunk)
    frameBody('json', chunks)
    // It once took half a minute and more.
    assert(cpuNow() - startedAt < 3_000, JSON.stringify(fill))
  }
})

test('a whole small body is framed like the same body in pieces', () => {
  const bodies = fc.oneof(
    lineBody,
    arrayBody(anyPiece),
    fc.constantFrom('', ' \n', '[]', ' [ ] ', '['),
  )
  const property = fc.property(bodies, (text) => {
    const part = wholeJson(bytesOf(text))
    const framed: { framing: string; text: string; linesBefore: number }[] = []
    let hasFailed = false
    const framer = FORMATS.json.createFramer(0, new BatchBuffers(BATCH_BYTES_TARGET), {
      part: ({ buffer, framing, start, end, linesBefore }) => {
        framed.push({
          framing,
          text: Buffer.from(buffer.subarray(start, end)).toString(),
          linesBefore,
        })
      },
      fail: () => {
        hasFailed = true
      },
    })
    framer.push(bytesOf(text))
    framer.end()
    if (part instanceof Error) return assert.equal(hasFailed, true)
    assert.equal(hasFailed, false)
    const whole = { framing: part.framing, text: Buffer.from(part.bytes).toString() }
    if (whole.text === '') return assert.equal(framed.map((each) => each.text.trim()).join(''), '')
    assert.deepEqual(framed, [{ ...whole, linesBefore: part.linesBefore ?? 0 }])
  })
  fc.assert(property, { seed, numRuns: 500 })
})

test('an OTLP document is one part, however many lines and bytes it has', () => {
  const record = '{"body":{"kvlistValue":{"values":[]}}}'
  const records = Array(1_000).fill(record).join(',\n')
  const body = Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[\n${records}\n]}]}]}`)
  const { parts, accepted, fatal } = frameBody('otlp-json', [body], { declaredBytes: 100 })
  assert.deepEqual([parts, accepted, fatal], [1, 1_000, undefined])
})

test('memory for a body is taken as it arrives, not as it was declared', () => {
  for (const createFramer of [
    (buffers: BatchBuffers, sink: FramerSink) =>
      FORMATS.ndjson.createFramer(BODY_BYTES_MAX, buffers, sink),
    (buffers: BatchBuffers, sink: FramerSink) => new OtlpFramer(BODY_BYTES_MAX, buffers, sink),
  ]) {
    const taken: number[] = []
    class Counted extends BatchBuffers {
      override take(bytesMin: number): Uint8Array {
        const buffer = super.take(bytesMin)
        taken.push(buffer.length)
        return buffer
      }
    }
    const framer = createFramer(new Counted(BATCH_BYTES_TARGET), {
      part: () => assert.fail('no batch yet'),
      fail: () => assert.fail('nothing is wrong yet'),
    })
    // One OTLP message with field 3 over and over, or one line.
    framer.push(new Uint8Array([0x0a, 0xff, 0xff, 0xff, 0x03]))
    assert.ok(taken[0]! <= BODY_AHEAD_BYTES + 64 * 1024, `${taken[0]}`)
    let came = 5
    for (; came < 600_000; came += 5_000) {
      framer.push(new Uint8Array(5_000).fill(0x1a))
      const held = taken.at(-1)!
      assert.ok(held <= 4 * came + 4 * BODY_AHEAD_BYTES, `${held} for ${came}`)
    }
    assert.ok(taken.length <= 5, 'grown a few times only')
    framer.discard()
  }
})

test('text after a closed array is named as such, an open array as not closed', () => {
  for (const [body, fault] of [
    ['[{"a":1}] x', /text behind the '\]'/],
    ['[{"a":"]"}]{"b":1}', /text behind the '\]'/],
    ['[{"a":1}],', /text behind the '\]'/],
    ['[]1', /text behind the '\]'/],
    ['[{"a":1}', /not closed by '\]'/],
    ['[{"a":"]"}', /not closed by '\]'/],
    ['[{"a":1},', /not closed by '\]'/],
  ] as const) {
    const bytes = bytesOf(body)
    const whole = wholeJson(bytes)
    assert.ok(whole instanceof IngestError)
    assert.match(whole.message, fault, body)
    const { fatal } = frameBody('json', [bytes])
    assert.match(JSON.stringify(fatal), fault, body)
  }
})
