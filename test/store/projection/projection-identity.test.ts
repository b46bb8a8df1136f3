/**
 * Goal: all nodes on one PostgreSQL have one ClickHouse; a lost, empty or foreign one is told
 * apart, whoever starts first, whatever was cut off in the midst.
 * Method: the rules as a table; real stores for what two of them are left with.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import {
  type FoundIdentity,
  judgeIdentity,
  ProjectionIdentity,
  type RecordedIdentity,
} from '../../../src/store/projection/projection-identity.ts'
import { SILENT_LOG, startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { openTestClickHouse, type TestStore } from '../../support/stores.ts'

const [A, B, C] = ['a', 'b', 'c'].map((last) => `00000000-0000-4000-8000-00000000000${last}`)
const ALONE = { liveNodes: 0, otherNodes: 0, isEmbedded: true, mayRebuild: false }

test('the rules', () => {
  assert.ok(A !== undefined)
  const ours = { identity: A, isConfirmed: true, isOwn: true }
  const theirs = { ...ours, isOwn: false }
  const cutOff = { ...ours, isConfirmed: false }
  const empty = { identity: undefined, hasEvents: false }
  const nameless = { identity: undefined, hasEvents: true }
  const other = { identity: B, hasEvents: true }
  const rows: [RecordedIdentity | undefined, FoundIdentity, Partial<typeof ALONE>, string][] = [
    // The first start, and one that was cut off before or after ClickHouse had the identity.
    [undefined, empty, {}, 'adopt'],
    [cutOff, empty, {}, 'adopt'],
    [cutOff, { identity: A, hasEvents: false }, {}, 'same'],
    [cutOff, nameless, {}, 'knows nothing of'],
    [cutOff, other, {}, 'another projection'],
    // As it is day by day.
    [theirs, { identity: A, hasEvents: true }, { liveNodes: 2, otherNodes: 3 }, 'same'],
    [theirs, { identity: A, hasEvents: false }, {}, 'same'],
    // Lost by the one who had it.
    [ours, empty, {}, 'adopt'],
    [ours, empty, { otherNodes: 1 }, 'start with --rebuild-projection true'],
    [ours, empty, { isEmbedded: false }, 'start with --rebuild-projection true'],
    [ours, empty, { isEmbedded: false, mayRebuild: true }, 'adopt'],
    // Somebody else's.
    [theirs, empty, {}, 'start with --rebuild-projection true'],
    [theirs, empty, { mayRebuild: true, otherNodes: 1 }, 'adopt'],
    [theirs, empty, { liveNodes: 1, otherNodes: 1 }, 'which 1 running node'],
    [ours, empty, { liveNodes: 1, otherNodes: 1, mayRebuild: true }, 'which 1 running node'],
    [ours, other, { mayRebuild: true }, 'another projection'],
    [ours, nameless, { mayRebuild: true }, 'not the one that holds the projection'],
    [undefined, other, { mayRebuild: true }, 'another projection'],
    [undefined, nameless, { mayRebuild: true }, 'knows nothing of'],
  ]
  for (const [index, [recorded, found, surroundings, expected]] of rows.entries()) {
    const verdict = judgeIdentity(recorded, found, { ...ALONE, ...surroundings })
    const text = verdict.kind === 'refuse' ? verdict.text : verdict.kind
    assert.ok(text.includes(expected), `row ${index}: ${text}`)
  }
})

const engines: TestStore[] = []
const clickHouses: ClickHouse[] = []
let database: TestDatabase

before(async () => {
  database = await startDatabase()
  for (let n = 0; n < 2; n++) {
    const engine = await openTestClickHouse()
    engines.push(engine)
    clickHouses.push(new ClickHouse({ url: engine.url }))
  }
})

after(async () => {
  for (const clickHouse of clickHouses) await clickHouse.close()
  for (const engine of engines) await engine.close()
  await database?.close()
})

beforeEach(async () => {
  await database.postgres.query(
    'TRUNCATE projection_identity, checkpoints, set_aside_segments, nodes',
  )
  for (const clickHouse of clickHouses) {
    await clickHouse.command(`DROP DATABASE IF EXISTS ${clickHouse.database} SYNC`)
    await ensureClickHouse(clickHouse)
  }
})

function claim(
  index: number,
  nodeIdentity: string | undefined,
  options: { isEmbedded?: boolean; mayRebuild?: boolean } = {},
) {
  const clickhouse = clickHouses[index] ?? assert.fail()
  return ProjectionIdentity.claim({
    postgres: database.postgres,
    clickhouse,
    nodeIdentity: nodeIdentity ?? assert.fail(),
    isEmbedded: options.isEmbedded ?? true,
    mayRebuild: options.mayRebuild ?? false,
    log: SILENT_LOG,
  })
}

const refused = { code: 'foreign_projection' }

test('many first starts at once on one ClickHouse agree; on two, one is refused', async () => {
  const all = await Promise.all([1, 2, 3, 4].map((n) => claim(0, n % 2 === 0 ? A : B)))
  for (const identity of all) {
    await identity.assertRecorded()
    await identity.assertSame()
  }
  await assert.rejects(claim(1, C), refused)
  await (await claim(0, A)).assertRecorded()
})

test('first starts at once on a ClickHouse each: the first alone', async () => {
  const outcomes = await Promise.allSettled([claim(0, A), claim(1, B)])
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})

test('cut off between the stores: what was not confirmed binds nobody', async () => {
  await claim(0, A)
  await database.postgres.query('UPDATE projection_identity SET is_confirmed = false')
  const winner = await claim(1, B)
  await winner.assertRecorded()
  await assert.rejects(claim(0, A), refused)
  // ClickHouse had it, and only the confirmation is missing.
  await database.postgres.query('UPDATE projection_identity SET is_confirmed = false')
  await claim(1, B)
  await assert.rejects(claim(0, A), refused)
})

test('lost data: built anew from the start by its only node, else by leave alone', async () => {
  const { postgres } = database
  const first = await claim(0, A)
  const lose = async () => {
    await postgres.query('INSERT INTO checkpoints VALUES (0, 5) ON CONFLICT DO NOTHING')
    await clickHouses[0]?.command(`DROP DATABASE ${clickHouses[0].database} SYNC`)
    await ensureClickHouse(clickHouses[0]!)
  }
  await lose()
  await assert.rejects(first.assertSame(), refused)
  await claim(0, A)
  assert.equal((await postgres.query('SELECT 1 FROM checkpoints')).rowCount, 0)
  await assert.rejects(first.assertRecorded(), refused, 'who started before it is told')
  await lose()
  await assert.rejects(claim(1, B), /--rebuild-projection true/, 'not its own')
  const node = (until: string) => {
    return postgres.query(
      `INSERT INTO nodes (node_id, identity, epoch, lease_until)
       VALUES (1, $1, 1, now() + $2::interval)
       ON CONFLICT (node_id) DO UPDATE SET lease_until = excluded.lease_until`,
      [B, until],
    )
  }
  await node('-1 hour')
  await assert.rejects(claim(0, A), /--rebuild-projection true/)
  await node('1 hour')
  await assert.rejects(claim(0, A, { mayRebuild: true }), /which 1 running node/)
  await node('-1 hour')
  await claim(0, A, { mayRebuild: true })
  assert.equal((await postgres.query('SELECT 1 FROM checkpoints')).rowCount, 0)
})

test('a server that is not there any more does not make way for the engine of a node', async () => {
  await claim(0, A, { isEmbedded: false })
  await assert.rejects(claim(1, A), /--rebuild-projection true/)
})
