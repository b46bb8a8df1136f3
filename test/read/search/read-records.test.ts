/** Goal: records come in the order of the events, of a few segments at a time, and none is lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENTS_PAGE_BYTES_MAX, SEARCH_PAYLOADS_MAX } from '../../../src/limits.ts'
import type { EventKey } from '../../../src/model/event-id.ts'
import type { SegmentId } from '../../../src/model/segment-id.ts'
import type { FoundSegment } from '../../../src/model/stored-row.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { EXPORT_CHUNK_EVENTS } from '../../../src/read/search/export.ts'
import { type RecordReaders, readRecords } from '../../../src/read/search/read-records.ts'
import type { FoundEvent } from '../../../src/read/search/search-sources.ts'

const OPTIONS = { format: { kind: 'list' }, isReversed: false, includesStreamId: false } as const

/** Records are ids; each event takes `eventBytes`. */
function readers(eventBytes: number) {
  const asked: number[] = []
  const rendered: number[] = []
  const given: RecordReaders = {
    readPayloads: async (keys) => {
      asked.push(keys.length)
      return new Map(
        keys.map(({ streamId, segmentId }): [SegmentId, FoundSegment] => {
          const payload = new Uint8Array(0)
          const place = { eventCount: 9, firstEvent: 0, eventBytes, payload }
          return [segmentId, { streamId, segmentId, ...place }]
        }),
      )
    },
    renderRecords: async (reads) => {
      const ids = reads.flatMap(({ segmentId, ordinals }) => {
        return [...(ordinals ?? [])].reverse().map((ordinal) => `${segmentId}-${ordinal}`)
      })
      rendered.push(ids.length)
      return { json: Buffer.from(ids.join(',')), damaged: [] }
    },
  }
  return { given, asked, rendered }
}

function newestFirst(segments: number): EventKey[] {
  return Array.from({ length: segments * 3 }, (_, n) => ({
    streamId: 1 as StreamId,
    segmentId: BigInt(segments - Math.floor(n / 3)) as SegmentId,
    ordinal: 2 - (n % 3),
  }))
}

async function idsOf(given: RecordReaders, events: readonly EventKey[]): Promise<string[]> {
  const ids: string[] = []
  for await (const { bytes, last } of readRecords(given, events, OPTIONS)) {
    ids.push(...Buffer.from(bytes).toString().split(','))
    assert.equal(ids.at(-1), `${last.segmentId}-${last.ordinal}`)
  }
  return ids
}

test('SEARCH_PAYLOADS_MAX segments at most are in memory, for a step of an export', async () => {
  const { given, asked } = readers(100)
  const events = newestFirst(Math.ceil(EXPORT_CHUNK_EVENTS / 3))
  const ids = await idsOf(given, events)
  assert.deepEqual(
    ids,
    events.map(({ segmentId, ordinal }) => `${segmentId}-${ordinal}`),
  )
  assert.ok(asked.every((segments) => segments <= SEARCH_PAYLOADS_MAX))
})

test('large events are rendered a few at a time, a huge one alone', async () => {
  const events = newestFirst(4)
  const large = readers(EVENTS_PAGE_BYTES_MAX / 8)
  assert.equal((await idsOf(large.given, events)).length, events.length)
  assert.ok(large.rendered.every((count) => count <= 4))
  const huge = readers(2 * EVENTS_PAGE_BYTES_MAX)
  assert.equal((await idsOf(huge.given, events)).length, events.length)
  assert.deepEqual(
    huge.rendered,
    events.map(() => 1),
  )
})

const KINDS = ['list', 'lines'] as const

test('records that were written already come in their places, and are not read again', async () => {
  for (const kind of KINDS) {
    for (const reading of ['with', 'against'] as const) {
      const { given, asked } = readers(100)
      const renderRecords: RecordReaders['renderRecords'] = async (reads) => {
        const { json, damaged } = await given.renderRecords(reads, OPTIONS.format)
        if (kind === 'list') return { json, damaged }
        return { json: Buffer.from(`${json}\n`.replaceAll(',', '\n')), damaged }
      }
      const keys = newestFirst(6)
      const events = keys.map((key, index): FoundEvent => {
        const isWritten = index < 3 || [7, 8, 9, 10, 11].includes(index)
        const record = Buffer.from(`${key.segmentId}-${key.ordinal}`)
        return isWritten ? { ...key, record } : key
      })
      const options = {
        format: { kind },
        isReversed: reading === 'against',
        includesStreamId: false,
      } as const
      const inOrder = reading === 'with' ? events : events.toReversed()
      const texts: string[] = []
      for await (const { bytes, last } of readRecords(
        { ...given, renderRecords },
        inOrder,
        options,
      )) {
        texts.push(bytes.toString())
        assert.equal(last, inOrder.at(-1))
      }
      const expected = keys.map(({ segmentId, ordinal }) => `${segmentId}-${ordinal}`)
      assert.deepEqual(
        texts,
        [kind === 'list' ? expected.join(',') : expected.map((id) => `${id}\n`).join('')],
        `${kind} ${reading}`,
      )
      assert.deepEqual(asked, [4], 'segments 5, 4 in part, 2 and 1')
    }
  }
})
