/**
 * Goal: what the projection may lack is listed, each segment once, wherever it is stored, and
 * nothing that is removed; a list that is cut says where. Payloads are found by any segment's id.
 * Method: a real PostgreSQL with random rows as commit, compaction and retention leave them,
 * compared with the same rules over an array.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId, segmentIdNode } from '../../../src/model/segment-id.ts'
import { encodeMembers } from '../../../src/model/stored-row.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { SEARCH_PENDING_ROWS } from '../../../src/read/search/store-sources.ts'
import { EventStore } from '../../../src/store/raw/event-store.ts'
import { PendingStore } from '../../../src/store/raw/pending-store.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { createRandom } from '../../support/random.ts'

const MS = Date.parse('2026-05-05T05:05:05Z')
const ONE = 1 as StreamId
const TWO = 2 as StreamId
const random = createRandom()
const nat = (max: number) => Math.floor(random.next() * (max + 1))
let database: TestDatabase
let pending: PendingStore
let events: EventStore

before(async () => {
  database = await startDatabase()
  pending = new PendingStore(database.postgres)
  events = new EventStore(database.postgres)
})

after(async () => {
  await database?.close()
})

beforeEach(async () => {
  await database.postgres.query(
    `TRUNCATE segments, segment_runs, checkpoints, nodes, stream_storage,
       set_aside_segments CASCADE`,
  )
})

const idAt = (n: number, node: number, counter = 0) => makeSegmentId({ ms: MS + n, node, counter })

interface Piece {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly eventCount: number
}

function pieceOf({ streamId, segmentId, eventCount }: Piece): Piece {
  return { streamId, segmentId, eventCount }
}

/** One row: a segment, merged segments of a stream, or runs of several. */
interface Row {
  readonly kind: 'plain' | 'merged' | 'mixed'
  readonly pieces: readonly Piece[]
}

const rowId = ({ pieces }: Row) => pieces[0]!.segmentId
const payloadOf = (row: Row) => Buffer.from(`payload of ${rowId(row)}`)

async function store(row: Row): Promise<void> {
  const { kind, pieces } = row
  const streamId = kind === 'mixed' ? MIXED_STREAM : pieces[0]!.streamId
  const members = kind === 'plain' ? null : encodeMembers(streamId, pieces)
  const count = pieces.reduce((sum, { eventCount }) => sum + eventCount, 0)
  await database.postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload, last_segment_id, members) VALUES ($1, $2, now(), $3, 1, 1, $4, $5, $6)`,
    [
      streamId,
      String(rowId(row)),
      count,
      payloadOf(row),
      kind === 'plain' ? null : String(pieces.at(-1)!.segmentId),
      members,
    ],
  )
  if (kind !== 'mixed') return
  let first = 0
  for (const { streamId, segmentId, eventCount } of pieces) {
    await database.postgres.query(
      `INSERT INTO segment_runs (stream_id, segment_id, row_id, first_event, event_count,
         raw_bytes, sent_bytes, stored_bytes) VALUES ($1, $2, $3, $4, $5, 1, 1, 1)`,
      [streamId, String(segmentId), String(rowId(row)), first, eventCount],
    )
    first += eventCount
  }
}

async function makeNode(node: number, checkpoint: bigint | undefined): Promise<void> {
  await database.postgres.query(
    `INSERT INTO nodes (node_id, identity, epoch, lease_until)
     VALUES ($1, gen_random_uuid(), 1, now())`,
    [node],
  )
  if (checkpoint === undefined) return
  await database.postgres.query('INSERT INTO checkpoints (node_id, segment_id) VALUES ($1, $2)', [
    node,
    String(checkpoint),
  ])
}

function randomRows(): Row[] {
  const rows: Row[] = []
  for (let n = 0; n < 60; n++) {
    const node = nat(2)
    const kind = (['plain', 'merged', 'mixed'] as const)[nat(2)]!
    const length = kind === 'plain' ? 1 : 1 + nat(3)
    let at = n * 40
    const streamId = [ONE, TWO][nat(1)]!
    const pieces = Array.from({ length }, (_, index) => {
      const of = kind === 'mixed' ? [ONE, TWO][index % 2]! : streamId
      // A merged row's members are of any node and interleave with other rows.
      const by = kind === 'merged' && index > 0 ? nat(2) : node
      const piece = { streamId: of, segmentId: idAt(at, by, n), eventCount: 1 + nat(4) }
      at += kind === 'mixed' ? 1 : 1 + nat(90)
      return piece
    })
    rows.push({ kind, pieces })
  }
  return rows
}

test('what is past the checkpoints is listed, in parts of any length, both ways', async () => {
  const rows = randomRows()
  for (const row of rows) await store(row)
  const checkpoints = [idAt(nat(2_000), 0), idAt(nat(2_000), 1), undefined]
  for (const [node, checkpoint] of checkpoints.entries()) await makeNode(node, checkpoint)
  const removedBefore = idAt(nat(600), 0)
  await database.postgres.query(
    'INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)',
    [ONE, String(removedBefore)],
  )
  const isSeen = ({ streamId, segmentId }: Piece) => streamId !== ONE || segmentId >= removedBefore
  let known: ReadonlyMap<number, SegmentId> = new Map()
  const knowing = new PendingStore(database.postgres, () => known)
  for (let tries = 0; tries < 90; tries++) {
    // Of some nodes it is known here how far they are, ahead of their checkpoints or behind.
    known = new Map([0, 1, 2].slice(nat(3)).map((node) => [node, idAt(nat(2_000), node)]))
    const [from, to] = [nat(1_500), 400 + nat(3_000)]
    const [start, end] = [idAt(from, nat(2)), idAt(from + to, nat(2))]
    const newestFirst = nat(1) === 1
    const streamIds = [[ONE], [TWO], [ONE, TWO]][nat(2)]!
    const limit = 1 + nat(20)
    // Of the third node nothing is known.
    const observed =
      nat(1) === 1 ? new Map([0, 1].map((node) => [node, idAt(nat(2_000), node)])) : undefined
    const list = await knowing.list({ streamIds, start, end, newestFirst, limit, observed })
    const { complete } = list
    assert.ok(newestFirst ? complete.end === end : complete.start === start)
    assert.ok(complete.start < complete.end)
    const expected = rows
      .filter((row) => {
        const node = segmentIdNode(rowId(row))
        const ids = [checkpoints[node] ?? 0n, known.get(node) ?? 0n]
        const passed = ids.reduce((a, b) => (a > b ? a : b))
        return rowId(row) > passed || rowId(row) > (observed?.get(node) ?? passed)
      })
      .flatMap(({ pieces }) => pieces)
      .filter((piece) => streamIds.includes(piece.streamId) && isSeen(piece))
      .filter(({ segmentId: id }) => id >= complete.start && id < complete.end)
      .sort((a, b) => (a.segmentId < b.segmentId === newestFirst ? 1 : -1))
    assert.deepEqual(list.segments.map(pieceOf), expected, `seed ${random.seed}`)
  }
})

test('what was set aside is listed although its checkpoint is past it', async () => {
  const row: Row = {
    kind: 'plain',
    pieces: [{ streamId: ONE, segmentId: idAt(5, 0), eventCount: 3 }],
  }
  await store(row)
  await makeNode(0, idAt(50, 0))
  const query = { streamIds: [ONE], start: 0n, end: 1n << 62n, newestFirst: true }
  const list = () => pending.list({ ...query, limit: SEARCH_PENDING_ROWS })
  assert.deepEqual((await list()).segments, [])
  assert.deepEqual((await list()).projected, new Map([[0, idAt(50, 0)]]))
  await database.postgres.query(
    `INSERT INTO set_aside_segments (stream_id, segment_id, node_id, reason, tries)
     VALUES (1, $1, 0, 'damaged', 5)`,
    [String(idAt(5, 0))],
  )
  const [found] = (await list()).segments.map(pieceOf)
  assert.deepEqual(found, { streamId: ONE, segmentId: idAt(5, 0), eventCount: 0 })
})

test('an extent is where the streams have segments, and how dense they are', async () => {
  const rows = randomRows()
  for (const row of rows) await store(row)
  const pieces = rows.flatMap((row) => row.pieces).filter(({ streamId }) => streamId === ONE)
  const ids = pieces.map(({ segmentId }) => segmentId).sort((a, b) => (a < b ? -1 : 1))
  const range = { start: 0n, end: 1n << 62n, newestFirst: true }
  const extent = await pending.readExtent([ONE], range)
  assert.ok(extent !== undefined && extent.start <= ids[0]! && extent.end > ids.at(-1)!)
  assert.ok(extent.eventsPerMs > 0 && extent.eventsPerMs < 1)
  assert.ok(extent.eventBytes > 0, String(extent.eventBytes))
  assert.equal(await pending.readExtent([3 as StreamId], range), undefined)
  const late = { ...range, start: ids.at(-1)! + 1n }
  assert.ok(((await pending.readExtent([ONE], late))?.end ?? late.start) <= ids.at(-1)! + 1n)
})

test('payloads are found by the id of any segment, with its place among the events', async () => {
  const rows = randomRows()
  for (const row of rows) await store(row)
  const keys = rows.flatMap((row) => row.pieces)
  const missing = { streamId: ONE, segmentId: idAt(999_999, 0) }
  const foreign = {
    streamId: TWO,
    segmentId: keys.find(({ streamId }) => streamId === ONE)!.segmentId,
  }
  const found = await events.readPayloads([...keys, missing])
  assert.equal(found.size, keys.length)
  for (const row of rows) {
    let firstEvent = 0
    for (const { segmentId, streamId, eventCount } of row.pieces) {
      const place = { streamId, segmentId, eventCount, firstEvent, payload: payloadOf(row) }
      const { eventBytes, ...rest } = found.get(segmentId)!
      assert.deepEqual(rest, place, row.kind)
      assert.ok(eventBytes > 0)
      firstEvent += eventCount
    }
  }
  assert.equal((await events.readPayloads([foreign])).size, 0)
  assert.equal((await events.readPayloads([])).size, 0)
  await database.postgres.query(
    'INSERT INTO stream_storage (stream_id, removed_before) VALUES (1, $1)',
    [String(idAt(999_999, 0))],
  )
  const left = await events.readPayloads(keys)
  assert.ok([...left.values()].every(({ streamId }) => streamId === TWO))
})
