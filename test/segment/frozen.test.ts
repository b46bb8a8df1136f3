/**
 * Goal: this build reads the segments that earlier builds wrote, and `docs/segment-format.md` says
 * how (decision 47).
 * Method: the fixtures, which are never made again, by the ways that reading and catch-up go; and
 * by a reader that was written from the page alone. Both must give the events that were recorded
 * when the fixture was made. Both must refuse damage, and ours says what is wrong.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { PACKED_END, PACKED_HEX, PACKED_UUID } from '../../workers/segment/column-packer.ts'
import { PayloadDecoder } from '../../workers/segment/payload-decoder.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import {
  LABELLED_FORMAT,
  SEGMENT_FLAGS,
  SEGMENT_FORMAT,
} from '../../workers/segment/segment-header.ts'
import { PACKED_DICTIONARY } from '../../workers/segment/value-dictionary.ts'
import { JsonTape } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import { readSourceFiles } from '../source-files.ts'
import { batchOfParts } from '../workers/batch-of.ts'
import { readMembers, readPayload, traitsOf } from './document-reader.ts'
import { readFixedColumns } from './fixed-columns.ts'
import { checksumOf, FIXTURES, listFixtureFiles, readFixtures, SUMS_FILE } from './fixture-files.ts'
import { membersOf, readStored, replayStored, type StoredEvent } from './stored-rows.ts'

const fixtures = readFixtures()
const NANOS_PER_MS = 1_000_000n

test('no fixture was changed or taken away: they are only added to', () => {
  const lines = readFileSync(new URL(SUMS_FILE, FIXTURES), 'utf8').trimEnd().split('\n')
  const sums = lines.map((line) => line.split('  ') as [sum: string, file: string])
  assert.deepEqual(sums.map(([, file]) => file).toSorted(), listFixtureFiles().toSorted())
  for (const [sum, file] of sums) assert.equal(checksumOf(file), sum, file)
  assert(fixtures.length >= 22)
})

for (const { name, row, payload, events } of fixtures) {
  test(`${name}: events and their ids, times, shapes and labels are what they were`, () => {
    assert.equal(events.length, row.event_count)
    assert.deepEqual(readStored(row, payload), events)
    assert.equal(decodeSegment(payload).text.length, row.raw_bytes)
  })

  test(`${name}: catch-up builds the block of these events`, () => {
    const { columns, payloadColumn } = replayStored(row, payload)
    assert.equal(columns.rows, events.length)
    for (const [i, event] of events.entries()) {
      const [segmentId, ordinal] = event.id.split('-')
      assert.equal(columns.stream_id?.[i], event.stream_id?.toString())
      assert.equal(columns.segment_id[i], segmentId)
      assert.equal(columns.ordinal[i], ordinal)
      assert.equal(columns.ingested_at[i], String(BigInt(segmentId!) >> 21n))
      assert.equal(columns.event_time[i], String(nanosOf(event.event_time)))
      assert.equal(BigInt(columns.shape[i]!), BigInt(`0x${event.shape}`))
    }
    assert(payloadColumn.equals(payloadOf(events)), 'as if they had come just now')
  })

  test(`${name}: the page says how to read it`, () => {
    const read = readPayload(payload)
    assert.deepEqual(
      read.map(({ text }) => text),
      events.map(({ text }) => text),
    )
    for (const [i, { time, labels }] of read.entries()) {
      const { event_time: expected, event_time_source: source } = events[i]!
      const { level, service, trace_id: traceId, span_id: spanId } = events[i]!
      assert.deepEqual([labels?.traceId, labels?.spanId], [traceId, spanId])
      if (labels?.level !== undefined) assert.equal(labels.level, level)
      if (labels?.service !== undefined) assert.equal(labels.service, service)
      assert.equal(time !== undefined, source === 'otlp')
      if (time === undefined) continue
      assert.equal(BigInt(time.ms) * NANOS_PER_MS + BigInt(time.nanos), nanosOf(expected))
    }
    if (row.members === undefined) return
    const members = readMembers(
      Buffer.from(row.members, 'hex'),
      BigInt(row.segment_id),
      row.stream_id === MIXED_STREAM,
    )
    const found = membersOf(row).map(({ streamId, segmentId, eventCount: events }) => {
      return row.stream_id === MIXED_STREAM
        ? { streamId, segmentId, events }
        : { segmentId, events }
    })
    assert.deepEqual(members, found)
    assert.equal(String(members.at(-1)!.segmentId), row.last_segment_id)
  })
}

test('the reader of the page knows none of the code', () => {
  const path = 'test/segment/document-reader.ts'
  const text = readSourceFiles().find((file) => file.path === path)!.text
  const imports = [...text.matchAll(/from '([^']+)'|import\('([^']+)'/g)].map(([, name]) => name)
  assert.deepEqual(imports, ['node:zlib'])
})

/** Nanoseconds since 1970 of a time in RFC 3339. */
function nanosOf(time: string): bigint {
  const fraction = /\.(\d+)Z$/.exec(time)?.[1] ?? ''
  const seconds = Date.parse(time.replace(/\.\d+Z$/, 'Z')) / 1_000
  return BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
}

/** The payload's column of the block that ingest makes today of such events. */
function payloadOf(events: readonly StoredEvent[]): Buffer {
  const isMixed = events[0]?.stream_id !== undefined
  const streams = [...new Set(events.map((event) => event.stream_id))]
  const bodies = streams.map((stream) => {
    const own = events.filter((event) => event.stream_id === stream)
    return ['ndjson', own.map(({ text }) => text).join('\n')] as const
  })
  const owners = streams.map((stream) => ({ streamId: (stream ?? 0) as StreamId, parts: 1 }))
  const batch = batchOfParts(bodies)
  const [segment] = new IngestPipeline().run(
    isMixed ? { ...batch, streamId: MIXED_STREAM, owners } : batch,
  ).segments
  return readFixedColumns(Buffer.from(segment!.block.bytes)).payloadColumn
}

test('the fixtures have every flag, kind, width, template and row that there is', () => {
  const traits = fixtures.map(({ payload }) => traitsOf(payload))
  const { times, columns, packed, labels } = SEGMENT_FLAGS
  assert.deepEqual(Object.keys(SEGMENT_FLAGS), ['times', 'columns', 'packed', 'labels'])
  const plain = [0, times, columns, columns | times, columns | packed, columns | packed | times]
  const flags = [...plain, labels, columns | times | labels, columns | packed | times | labels]
  assert.deepEqual(sorted(traits.map((each) => each.flags)), sorted(flags))
  for (const { payload } of fixtures) {
    const isLabelled = (payload[1]! & labels) !== 0
    assert.equal(payload[0], isLabelled ? LABELLED_FORMAT : SEGMENT_FORMAT)
  }
  const kinds = [PACKED_HEX, PACKED_UUID, PACKED_DICTIONARY]
  assert.deepEqual([PACKED_END, ...kinds], [0, 1, 2, 4], 'kind 3 is reserved')
  assert.deepEqual(sorted(traits.flatMap((each) => each.kinds)), kinds)
  assert.deepEqual(sorted(traits.flatMap((each) => each.widths)), [0, 1, 2, 3, 4, 5, 6, 7, 8])
  assert(traits.some((each) => each.templates === 1))
  assert(traits.some((each) => each.templates > 2 && each.hasRaw))
  assert(traits.some((each) => each.templates > 2 && !each.hasRaw))
  const rows = fixtures.map(({ row }) => row)
  assert(rows.some((row) => row.stream_id !== MIXED_STREAM && row.members === undefined))
  assert(rows.some((row) => row.stream_id !== MIXED_STREAM && row.members !== undefined))
  assert(rows.some((row) => row.stream_id === MIXED_STREAM && row.members !== undefined))
  const all = fixtures.flatMap(({ events }) => events)
  const sources = all.map((event) => event.event_time_source)
  assert.deepEqual([...new Set(sources)].toSorted(), ['field', 'otlp', 'receipt'])
})

function sorted(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].toSorted((a, b) => a - b)
}

const decoder = new PayloadDecoder(new JsonTape(new PathTrie()))

/** Both readers refuse; ours says why in words of its own, as whoever reads hears it. */
function assertRefused(payload: Buffer, hint: string): void {
  const damage = decoder.decode(payload)
  assert(damage?.startsWith('segment ') === true, `${hint}: ${damage}`)
  assert.throws(() => readPayload(payload), hint)
}

test('a payload that is cut anywhere in its header, or anywhere at all, is refused', () => {
  for (const { name, payload } of fixtures) {
    const step = Math.max(1, Math.floor(payload.length / 40))
    for (let length = 0; length < payload.length; length += length < 40 ? 1 : step) {
      assertRefused(payload.subarray(0, length), `${name} cut to ${length} bytes`)
    }
    assertRefused(Buffer.concat([payload, Buffer.from([0])]), `${name} with a byte behind it`)
  }
})

test('a header with one wrong bit is refused', () => {
  for (const { name, payload } of fixtures) {
    const sections = payload[1]! & SEGMENT_FLAGS.times ? [6, 7, 8, 9] : []
    for (const at of [0, 1, 2, 3, 4, 5, ...sections]) {
      for (let bit = 0; bit < 8; bit++) {
        const flipped = Buffer.from(payload)
        flipped[at]! ^= 1 << bit
        assertRefused(flipped, `${name} with bit ${bit} of byte ${at}`)
      }
    }
  }
})

test('other formats are refused by their number', () => {
  const payload = Buffer.from(fixtures[0]!.payload)
  for (let format = 0; format < 256; format++) {
    payload[0] = format
    if (format === SEGMENT_FORMAT) decodeSegment(payload)
    else if (format === LABELLED_FORMAT) {
      assert.throws(() => decodeSegment(payload), {
        message: /^segment flags \d+ are not known in format 3$/,
      })
    } else {
      const message = `segment format ${format} is not known`
      assert.throws(() => decodeSegment(payload), { message })
    }
  }
})
