/**
 * Writing the raw store: one group of segments, their usage counters and their idempotent answers
 * in one transaction, by binary COPY over a connection of its own.
 *
 * The whole transaction is one round trip: a simple query of several statements with the COPY
 * among them. The statements hold only integers that we computed; idempotent answers, which are
 * rare, are sent as parameters before it.
 *
 * The outcome of a COMMIT whose answer never came is looked up (`wasCommitted`): the transaction
 * holds a share lock on our row in `nodes` (assert_node_lease), so once another transaction has
 * that row FOR UPDATE, the one in question is over, one way or the other. To take it writes log, so
 * where commits wait for a standby, the look-up's own COMMIT does, behind the log of the one that
 * it found: nothing is taken for committed that a failover would lose.
 */
import assert from 'node:assert/strict'
import { from as copyFrom } from 'pg-copy-streams'
import { MIXED_STREAM, type SegmentRun } from '../../model/mixed-runs.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import { encodeMembers } from '../../model/stored-row.ts'
import type { StreamId } from '../../model/stream.ts'
import { type Postgres, type PostgresClient, toStoreError } from '../postgres.ts'
import { socketOf } from '../postgres-servers.ts'
import { StoreError } from '../store-error.ts'
import type { NodeIdentity } from '../under-lease.ts'
import { completeKey, type IdempotentAnswer } from './idempotency-store.ts'

export interface SegmentRow {
  /** `MIXED_STREAM` for a mixed segment; its id is its first run's. */
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly runs?: readonly SegmentRun[]
  /** Milliseconds since 1970. */
  readonly ingestedAtMs: number
  readonly eventCount: number
  /** Bytes of its events as JSON, and as they were sent. */
  readonly rawBytes: number
  readonly sentBytes: number
  readonly payload: Uint8Array
}

/** A commit that failed. `mayHaveCommitted`: only `wasCommitted` can tell whether it did. */
export interface CommitFailure {
  readonly error: StoreError
  readonly mayHaveCommitted: boolean
}

/** The `constraint` that the conflict over an Idempotency-Key names. */
const IDEMPOTENCY_CONSTRAINT = 'idempotency_keys_claim'

const COPY_SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const COPY_TRAILER = Buffer.from([0xff, 0xff])
/** The least size of a chunk of COPY data but the last; a payload this large is not copied. */
const COPY_CHUNK_BYTES = 64 * 1024
const COLUMNS =
  'stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes, last_segment_id, ' +
  'members, payload'
const COLUMN_COUNT = 9
/** Field count, then a length before each value: 4, 8, 8, 4, 4 and 4 bytes, and variable ones. */
const ROW_HEAD_BYTES = 2 + 9 * 4 + 4 + 8 + 8 + 4 + 4 + 4
/** The length of a value that is null. */
const NULL_LENGTH = -1
/** Milliseconds from 1970 to 2000, where PostgreSQL's timestamps start. */
const POSTGRES_EPOCH_MS = 946_684_800_000
const COMMIT_MS_MAX = 30_000

export class SegmentStore {
  readonly #postgres: Postgres
  readonly #node: NodeIdentity
  #client: PostgresClient | undefined
  /** The server has warned since the last COMMIT was sent. */
  #hasWarned = false

  constructor(postgres: Postgres, node: NodeIdentity) {
    this.#postgres = postgres
    this.#node = node
  }

  /** Makes the rows durable; undefined when they are. Never rejects. */
  async commit(
    rows: readonly SegmentRow[],
    answers: readonly IdempotentAnswer[],
  ): Promise<CommitFailure | undefined> {
    assert(rows.length > 0)
    let wasSent = false
    try {
      const client = await this.#connected()
      if (answers.length > 0) await this.#answer(client, answers)
      wasSent = true
      await this.#copy(client, rows, answers.length === 0)
      return undefined
    } catch (cause) {
      this.#disconnect()
      const error = toStoreError(cause)
      // An error that the server reported means that it rolled back. After any other nobody knows.
      const isOver = isRolledBack(error.code) && !endsSession(cause)
      return { error, mayHaveCommitted: wasSent && !isOver }
    }
  }

  /** Whether the transaction that held `row` was committed. Waits until it is over. */
  async wasCommitted(row: Pick<SegmentRow, 'streamId' | 'segmentId'>): Promise<boolean> {
    return this.#postgres.transaction(async (client) => {
      await client.query('SELECT 1 FROM nodes WHERE node_id = $1 FOR UPDATE', [this.#node.nodeId])
      const { rowCount } = await client.query(
        'SELECT 1 FROM segments WHERE stream_id = $1 AND segment_id = $2',
        [row.streamId, String(row.segmentId)],
      )
      return rowCount === 1
    })
  }

  async stop(): Promise<void> {
    await this.#client?.end().catch(() => undefined)
    this.#client = undefined
  }

  async #connected(): Promise<PostgresClient> {
    if (this.#client !== undefined) return this.#client
    const client = await this.#postgres.connect({ queryMsMax: COMMIT_MS_MAX })
    client.on('end', () => {
      if (this.#client === client) this.#client = undefined
    })
    client.on('notice', ({ code }) => {
      if (code?.startsWith('01') === true) this.#hasWarned = true
    })
    this.#client = client
    return client
  }

  #disconnect(): void {
    const client = this.#client
    this.#client = undefined
    void client?.end().catch(() => undefined)
  }

  async #answer(client: PostgresClient, answers: readonly IdempotentAnswer[]): Promise<void> {
    await client.query('BEGIN')
    for (const answer of answers) {
      if (!(await completeKey(client, this.#node, answer))) {
        const details = { constraint: IDEMPOTENCY_CONSTRAINT }
        throw new StoreError('conflict', 'an Idempotency-Key is no longer ours', details)
      }
    }
  }

  #copy(client: PostgresClient, rows: readonly SegmentRow[], begin: boolean): Promise<void> {
    const { nodeId, epoch } = this.#node
    const text =
      `${begin ? 'BEGIN; ' : ''}CALL assert_node_lease(${nodeId}::smallint, ${epoch}); ` +
      `COPY segments (${COLUMNS}) FROM STDIN BINARY; ${runsSql(rows)}${usageSql(rows, nodeId)}; ` +
      'COMMIT'
    return new Promise((resolve, reject) => {
      this.#hasWarned = false
      const stream = client.query(copyFrom(text))
      stream.on('finish', () => {
        // Somebody cancelled the wait for a standby: its success is that of the primary alone.
        const text = 'postgresql: COMMIT was answered with a warning'
        if (this.#hasWarned) reject(new StoreError('unavailable', text))
        else resolve()
      })
      stream.on('error', (cause) => {
        // At once: a drain event of the socket would call into the copy, which has ended.
        socketOf(client).destroy()
        reject(cause)
      })
      for (const chunk of copyChunks(rows)) stream.write(chunk)
      stream.end(COPY_TRAILER)
    })
  }
}

/** Whether an error is the server's word that the transaction was rolled back. */
function isRolledBack(code: string | undefined): boolean {
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code)) return false
  // EPIPE has the form of an SQLSTATE; poolers report lost servers as class 08; 57P is a shutdown.
  return !code.startsWith('E') && !code.startsWith('08') && !code.startsWith('57P')
}

/**
 * An error of a higher severity than ERROR. After a PANIC, as of a disk that is full when the log
 * is written, the record of the COMMIT may be in the log, and recovery makes it true. Severities in
 * other languages count as higher: that costs a look-up.
 */
export function endsSession(cause: unknown): boolean {
  const severity = cause instanceof Error && 'severity' in cause ? cause.severity : undefined
  return typeof severity === 'string' && severity !== 'ERROR'
}

/**
 * The rows as COPY data, small ones together: the driver makes two socket writes for each chunk,
 * and a group of many streams has hundreds of small rows.
 */
export function* copyChunks(rows: readonly SegmentRow[]): Generator<Uint8Array> {
  let pieces: Uint8Array[] = [COPY_SIGNATURE]
  let bytes = 0
  for (const row of rows) {
    const { payload } = row
    const head = encodeRowHead(row)
    pieces.push(head)
    bytes += head.length + payload.length
    const isLarge = payload.length >= COPY_CHUNK_BYTES
    if (!isLarge) pieces.push(payload)
    if (bytes < COPY_CHUNK_BYTES) continue
    yield Buffer.concat(pieces)
    if (isLarge) yield payload
    pieces = []
    bytes = 0
  }
  if (pieces.length > 0) yield Buffer.concat(pieces)
}

/** One binary COPY tuple up to its payload's bytes (PostgreSQL docs, COPY, Binary Format). */
export function encodeRowHead(row: SegmentRow): Buffer {
  const lastRun = row.runs?.at(-1)
  const members = row.runs === undefined ? undefined : encodeMembers(MIXED_STREAM, row.runs)
  const runsBytes = members === undefined ? 0 : 8 + members.length
  const head = Buffer.allocUnsafe(ROW_HEAD_BYTES + runsBytes)
  let at = head.writeInt16BE(COLUMN_COUNT, 0)
  at = head.writeInt32BE(row.streamId, head.writeInt32BE(4, at))
  at = head.writeBigInt64BE(row.segmentId, head.writeInt32BE(8, at))
  const micros = BigInt(row.ingestedAtMs - POSTGRES_EPOCH_MS) * 1000n
  at = head.writeBigInt64BE(micros, head.writeInt32BE(8, at))
  at = head.writeInt32BE(row.eventCount, head.writeInt32BE(4, at))
  at = head.writeInt32BE(row.rawBytes, head.writeInt32BE(4, at))
  at = head.writeInt32BE(row.sentBytes, head.writeInt32BE(4, at))
  if (lastRun === undefined || members === undefined) {
    at = head.writeInt32BE(NULL_LENGTH, head.writeInt32BE(NULL_LENGTH, at))
  } else {
    at = head.writeBigInt64BE(lastRun.segmentId, head.writeInt32BE(8, at))
    at = head.writeInt32BE(members.length, at)
    head.set(members, at)
    at += members.length
  }
  head.writeInt32BE(row.payload.length, at)
  return head
}

/** The runs of mixed segments; every value is an integer of our own making. */
function runsSql(rows: readonly SegmentRow[]): string {
  const columns: (number | bigint)[][] = [[], [], [], [], [], [], [], []]
  for (const { segmentId: rowId, runs } of rows) {
    let firstEvent = 0
    for (const run of runs ?? []) {
      const { streamId, segmentId, eventCount, rawBytes, sentBytes, storedBytes } = run
      const values = [streamId, segmentId, rowId, firstEvent, eventCount, rawBytes, sentBytes]
      for (const [index, value] of [...values, storedBytes].entries()) {
        assert(typeof value === 'bigint' || Number.isSafeInteger(value))
        columns[index]!.push(value)
      }
      firstEvent += eventCount
    }
  }
  if (columns[0]!.length === 0) return ''
  const types = [
    'integer',
    'bigint',
    'bigint',
    'integer',
    'integer',
    'integer',
    'integer',
    'integer',
  ]
  const arrays = columns.map((values, index) => `'{${values.join(',')}}'::${types[index]}[]`)
  return (
    'INSERT INTO segment_runs (stream_id, segment_id, row_id, first_event, event_count, ' +
    `raw_bytes, sent_bytes, stored_bytes) SELECT * FROM unnest(${arrays.join(', ')}); `
  )
}

/** Adds the group to the usage counters; every value is an integer of our own making. */
function usageSql(rows: readonly SegmentRow[], nodeId: number): string {
  const byStream = new Map<
    StreamId,
    [segments: number, events: number, sent: number, stored: number]
  >()
  for (const row of rows) {
    for (const segment of row.runs ?? [{ ...row, storedBytes: row.payload.length }]) {
      const sums = byStream.get(segment.streamId) ?? [0, 0, 0, 0]
      sums[0]++
      sums[1] += segment.eventCount
      sums[2] += segment.sentBytes
      sums[3] += segment.storedBytes
      byStream.set(segment.streamId, sums)
    }
  }
  const values = [...byStream].map(([streamId, sums]) => {
    assert(sums.every(Number.isSafeInteger) && Number.isSafeInteger(streamId))
    return `(${streamId},${nodeId},${sums.join(',')})`
  })
  return (
    'INSERT INTO stream_usage AS u (stream_id, node_id, segment_count, event_count, sent_bytes, ' +
    `stored_bytes) VALUES ${values.join(',')} ON CONFLICT (stream_id, node_id) DO UPDATE SET ` +
    'segment_count = u.segment_count + excluded.segment_count, ' +
    'event_count = u.event_count + excluded.event_count, ' +
    'sent_bytes = u.sent_bytes + excluded.sent_bytes, ' +
    'stored_bytes = u.stored_bytes + excluded.stored_bytes'
  )
}
