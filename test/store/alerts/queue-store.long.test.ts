/**
 * Goal: what happens is told, whoever dies at whatever step of it; of 10,000 groups at once, too,
 * in messages of bounded size.
 * Method: a real PostgreSQL; a process that dies at each step in turn.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import {
  ALERT_GROUP_WAIT_MS,
  ALERT_GROUPS_MAX,
  ALERT_MESSAGE_ALERTS_MAX,
  ALERT_MESSAGE_BYTES_MAX,
} from '../../../src/limits.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { dieAtStep, stepsOfTelling, ToldAlerts } from './told-alerts.ts'

let database: TestDatabase
let alerts: ToldAlerts

before(async () => {
  database = await startDatabase()
  alerts = new ToldAlerts(database.postgres)
})

beforeEach(async () => {
  await alerts.clear()
})

after(async () => {
  await database?.close()
})

test('a process dies at any step: told all the same, under one key, with one text', async (t) => {
  const steps = await stepsOfTelling(alerts)
  for (let dieAt = 0; dieAt < steps; dieAt++) await dieAtStep(alerts, dieAt)
  t.diagnostic(`${steps} steps`)
})

test('10,000 groups begin to fire at once: some in full, the others counted', async (t) => {
  const labels = Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => [`l${n}`, 'x'.repeat(1_000)]),
  )
  const names = Array.from({ length: ALERT_GROUPS_MAX }, (_, n) => `g${n}`)
  for (let n = 0; n < 10; n++) {
    const rule = await alerts.put(`many${n}`, n === 0 ? { labels } : {})
    await alerts.happen(rule, 'firing', ...names)
  }
  await alerts.pass(ALERT_GROUP_WAIT_MS)
  const posted = await alerts.tell()
  assert.equal(posted.length, 10)
  for (const { body, message } of posted) {
    const { alerts: full, truncatedAlerts, groupLabels } = message
    assert.equal(full.length + truncatedAlerts, ALERT_GROUPS_MAX)
    const isLarge = groupLabels.alertname === 'many0'
    assert.ok(isLarge ? full.length > 20 : full.length === ALERT_MESSAGE_ALERTS_MAX)
    assert.ok(Buffer.byteLength(body) < 2.2 * ALERT_MESSAGE_BYTES_MAX, `${body.length} bytes`)
  }
  const { rows } = await database.postgres.query<{ told: number; waiting: number }>(
    `SELECT (SELECT count(*)::integer FROM alert_told WHERE is_delivered) AS told,
       (SELECT count(*)::integer FROM alert_notices) AS waiting`,
  )
  t.diagnostic(`${Math.round(process.memoryUsage().heapUsed / 2 ** 20)} MiB of heap`)
  assert.deepEqual(rows, [{ told: 10 * ALERT_GROUPS_MAX, waiting: 0 }])
})
