/**
 * Goal: the rest of a worker's task does with messages of syslog what it does with other events:
 * their level, service and time are found, objects are extracted, parts share a batch.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AcceptedBatch } from '../../../src/model/batch/accepted-batch.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { EventFacts, SOURCE_OTLP, SOURCE_RECEIPT } from '../../../workers/facts/event-facts.ts'
import { IngestPipeline } from '../../../workers/ingest.ts'
import { TAPE_PADDING } from '../../../workers/tape/json-tape.ts'
import { target } from '../generated-events.ts'
import { decodeSyslog, encodeRecords, RECEIVED } from './decode-syslog.ts'
import { readVendorLines } from './vendor-lines.ts'

test('a message says its level, its service and its time', () => {
  decodeSyslog([
    { text: '<11>Nov 27 10:00:00 web1 sshd[812]: x' },
    { text: '<14>1 - web1 shop - - - x' },
    { text: '%ASA-4-106023: Deny tcp' },
  ])
  const facts = new EventFacts()
  facts.describe(target.tape, target.generated.bytes, target.events)
  const { level, service, names } = facts.labels
  const found = [0, 1, 2].map((event) => {
    const name = Buffer.from(names.nameOf(service[event]!)).toString()
    return [level[event], name, facts.timeSource[event]]
  })
  // Levels are numbered from trace on.
  assert.deepEqual(found, [
    [5, 'sshd', SOURCE_OTLP],
    [3, 'shop', SOURCE_RECEIPT],
    [4, 'ASA', SOURCE_RECEIPT],
  ])
  assert.equal(facts.timeMs[0], Date.parse('2026-11-27T10:00:00Z'))
})

test('parts of several listeners share a batch, each with its zone', () => {
  const bodies = [
    encodeRecords(readVendorLines().map(({ text }) => ({ text, peer: '10.0.0.9' }))),
    encodeRecords([{ text: '<13>Nov 27 10:00:00 h app: x' }]),
    encodeRecords([]),
    encodeRecords([{ text: '<13>@cee: {"a":{"b":1}}' }]),
  ]
  const zones = ['UTC', 'Europe/Berlin', 'Asia/Tokyo', undefined]
  const pieces = bodies.flatMap((body) => [body, Buffer.from('\n')])
  let start = 0
  const batch: AcceptedBatch = {
    streamId: 1 as StreamId,
    settings: { parseUserAgents: false, redactSensitive: true, redactFields: [] },
    receivedAtMs: RECEIVED,
    bytes: Buffer.concat([...pieces, Buffer.alloc(TAPE_PADDING)]),
    parts: bodies.map((body, i) => {
      const part = { framing: 'syslog', start, end: start + body.length }
      start = part.end + 1
      return zones[i] === undefined ? part : { ...part, options: { timeZone: zones[i] } }
    }),
  }
  const pipeline = new IngestPipeline()
  const { parts, segments, transforms } = pipeline.run(batch)
  const lines = readVendorLines().length
  assert.deepEqual(
    parts.map(({ accepted }) => accepted),
    [lines, 1, 0, 1],
  )
  assert.equal(
    segments.reduce((sum, { eventCount }) => sum + eventCount, 0),
    lines + 2,
  )
  const objects = readVendorLines().filter(({ expected }) => {
    return expected.some(([path, value]) => path === 'log' && value !== undefined)
  })
  assert.ok(transforms.eventsExtracted > objects.length)
  assert.deepEqual(pipeline.run(batch).parts, parts, 'and again')
})
