/**
 * Goal: a restored database holds what the other held when the backup began, and whatever fails on
 * the way leaves an empty database behind. Every table is in a backup, or left out by name.
 * Method: two databases of a real server; rows of every kind that a reader or a node looks for.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { NO_PROGRESS } from '../../src/backup/progress.ts'
import { readBackup } from '../../src/backup/read-backup.ts'
import { writeBackup } from '../../src/backup/write-backup.ts'
import { BACKUP_TABLES, LEFT_OUT_TABLES } from '../../src/store/backup/backup-tables.ts'
import { RestoreTarget } from '../../src/store/backup/restore-target.ts'
import { migratePostgres } from '../../src/store/migrations/run.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { recordingLog } from '../store/temporary.ts'
import { openTestPostgres, type TestStore } from '../support/stores.ts'

const log = recordingLog()
const stores: TestStore[] = []
const opened: Postgres[] = []
let from: Postgres
let to: Postgres

before(async () => {
  ;[from, to] = [await open(false), await open(true)]
  await from.query(`INSERT INTO streams (name, owner, retention_ms, parse_user_agents,
    redact_sensitive, redact_fields, text_fields, otlp_context, field_soft_cap, field_hard_cap,
    shape_soft_cap, shape_hard_cap) SELECT 'web' || n, 'me', 1, false, false, '{}', '{a,b}', 'drop',
    1, 1, 1, 1 FROM generate_series(1, 5) n`)
  await from.query('DELETE FROM streams WHERE stream_id = 5')
  await from.query(`INSERT INTO api_keys (stream_id, prefix, secret_sha256, name)
    VALUES (1, 'lax_a', '\\x00ff', 'shipper')`)
  await from.query(`INSERT INTO access_tokens (prefix, secret_sha256, owner, name, scopes)
    VALUES ('lap_a', '\\x01', 'me', 'admin', '{admin}')`)
  await from.query(`INSERT INTO segments
    (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes, payload)
    SELECT 1, n, now(), 1, 1, 1, decode(repeat(md5(n::text), 600), 'hex')
    FROM generate_series(1, 2000) n`)
  await from.query(`INSERT INTO nodes (node_id, identity, epoch, lease_until)
    VALUES (3, gen_random_uuid(), 7, now() + interval '1 hour')`)
  await from.query(`INSERT INTO idempotency_keys (stream_id, key_sha256, node_id, epoch, status)
    VALUES (1, '\\x01', 3, 7, 200), (1, '\\x02', 3, 7, NULL)`)
  await from.query('INSERT INTO checkpoints (node_id, segment_id) VALUES (3, 2000)')
})

after(async () => {
  for (const postgres of opened) await postgres.end()
  for (const store of stores.toReversed()) await store.close()
})

async function open(isEmpty: boolean): Promise<Postgres> {
  const store = await openTestPostgres({ isEmpty })
  stores.push(store)
  const postgres = new Postgres({ url: store.url, log })
  opened.push(postgres)
  return postgres
}

const { signal } = new AbortController()

/** `meanwhile` runs once, when the snapshot is taken. */
async function backUp(meanwhile = () => Promise.resolve()): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let isTaken = false
  const write = async (bytes: Uint8Array) => {
    pieces.push(Uint8Array.from(bytes))
    if (!isTaken) await meanwhile()
    isTaken = true
  }
  await writeBackup({ postgres: from, version: '1', write, progress: NO_PROGRESS, signal })
  return Buffer.concat(pieces)
}

async function restore(bytes: Uint8Array, revokesAdmins = false): Promise<void> {
  let target: RestoreTarget | undefined
  try {
    const { counters } = await readBackup(chunksOf(bytes), {
      begin: async ({ migrations }) => {
        const made = await RestoreTarget.open(to, migrations)
        target = made
        return (table, columns, chunks) => made.copyIn(table, columns, chunks)
      },
      progress: NO_PROGRESS,
      signal,
    })
    await target?.finish({ counters, revokesAdmins })
  } finally {
    await target?.close()
  }
}

async function* chunksOf(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
}

async function rowsOf(postgres: Postgres, table: string, where = 'true') {
  const text = `SELECT * FROM ${table} WHERE ${where} ORDER BY 1, 2`
  return (await postgres.query(text)).rows
}

test('every table of the schema is in a backup, or left out by name', async () => {
  const { rows } = await from.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
      WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace`,
  )
  const known = [...BACKUP_TABLES.map(({ name }) => name), ...LEFT_OUT_TABLES]
  assert.deepEqual(rows.map(({ name }) => name).toSorted(), known.toSorted())
})

test('what fails leaves nothing, and then it is restored as of the beginning', async () => {
  const whole = await backUp(async () => {
    await from.query('UPDATE streams SET busy_at = now() WHERE stream_id = 2')
    await from.query('DELETE FROM segments WHERE segment_id = 1')
  })
  const damaged = Uint8Array.from(whole)
  // A byte of a payload, which PostgreSQL takes: only the checksum knows.
  const at = whole.indexOf('tables/segments/') + 50_000
  damaged[at] = damaged[at]! ^ 1
  await assert.rejects(restore(damaged), /tables\/segments\/000000.copy is not as it was/)
  await assert.rejects(restore(whole.subarray(0, whole.length - 3_000)), /ends early/)
  const { rows } = await to.query("SELECT 1 FROM pg_class WHERE relname = 'streams'")
  assert.deepEqual(rows, [], 'nothing is there')

  await restore(whole)
  const [first] = await rowsOf(to, 'segments', 'segment_id = 1')
  assert.ok(first !== undefined, 'it was there when the backup began')
  for (const table of ['api_keys', 'access_tokens', 'control_version', 'stream_usage']) {
    assert.deepEqual(await rowsOf(to, table), await rowsOf(from, table), table)
  }
  const others = 'segment_id > 1'
  assert.deepEqual(await rowsOf(to, 'segments', others), await rowsOf(from, 'segments', others))
  assert.deepEqual(await rowsOf(to, 'checkpoints'), [], 'the projection is built anew')
  const [node] = (await rowsOf(to, 'nodes')) as { node_id: number; lease_until: Date }[]
  assert.ok(node?.node_id === 3 && node.lease_until.getTime() < Date.now())
  assert.equal((await rowsOf(to, 'idempotency_keys')).length, 1, 'no claim without an answer')
  assert.equal(await migratePostgres(to, { log }), 0)
  const { rows: next } = await to.query<{ id: number }>(
    "SELECT nextval(pg_get_serial_sequence('streams', 'stream_id'))::integer AS id",
  )
  assert.equal(next[0]?.id, 6, 'a number that was given out is not given out again')
  await assert.rejects(restore(whole), /already holds a Sluice: name an empty one/)
})

test('a backup of a newer Sluice, and of none, is refused in words', async () => {
  const newer = [{ version: 9_999, name: 'newer', checksum: '' }]
  const empty = await open(true)
  await assert.rejects(RestoreTarget.open(empty, newer), /at schema version 9999/)
  const write = () => Promise.resolve()
  const task = { postgres: empty, version: '1', write, progress: NO_PROGRESS, signal }
  await assert.rejects(writeBackup(task), /holds no Sluice: nothing to back up/)
})
