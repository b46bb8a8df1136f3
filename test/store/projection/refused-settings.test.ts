/**
 * Goal: a setting of tables that a server refuses is left out, once told, and nothing else is.
 * Method: statements as they are made, and a server that refuses as ClickHouse does.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamId } from '../../../src/model/stream.ts'
import { createTableSql } from '../../../src/store/projection/projection-store.ts'
import { RefusedSettings } from '../../../src/store/projection/refused-settings.ts'
import { StoreError } from '../../../src/store/store-error.ts'

/** Refuses these, one at a time. */
function serverThatRefuses(...names: string[]) {
  const run: string[] = []
  return {
    run,
    command: async (sql: string) => {
      const name = names.find((one) => sql.includes(`${one} = `))
      if (name === undefined) return void run.push(sql)
      throw new StoreError('other', `clickhouse: Setting ${name} should not be changed`, {
        clickHouseCode: 452,
      })
    },
  }
}

test('a table is made without the settings that are refused, and told of each once', async () => {
  const told: string[] = []
  const refused = new RefusedSettings((name) => told.push(name))
  const server = serverThatRefuses('parts_to_delay_insert', 'auto_statistics_types')
  const sql = createTableSql('sluice', 1 as StreamId)
  await refused.run(sql, server.command)
  await refused.run(sql, server.command)
  assert.deepEqual(told.toSorted(), ['auto_statistics_types', 'parts_to_delay_insert'])
  const [made, again] = server.run
  assert.equal(made, again)
  const expected = sql
    .replace("auto_statistics_types = '', ", '')
    .replace('parts_to_delay_insert = 5000, ', '')
  assert.equal(made?.replaceAll(/\s+/g, ' '), expected.replaceAll(/\s+/g, ' '))
})

test('no table is made that is not synced, but on ClickHouse Cloud', async () => {
  const sql = createTableSql('sluice', 1 as StreamId)
  const { command, run } = serverThatRefuses('fsync_after_insert', 'fsync_part_directory')
  await assert.rejects(new RefusedSettings().run(sql, command), /fsync_after_insert/)
  await new RefusedSettings(undefined, async () => true).run(sql, command)
  assert.ok(run.length === 1 && !run[0]!.includes('fsync'))
})

test('an ALTER of nothing else is not run; other failures are as they are', async () => {
  const refused = new RefusedSettings()
  const server = serverThatRefuses('storage_policy')
  const alter = 'ALTER TABLE sluice.events_1 MODIFY SETTING '
  await refused.run(`${alter}storage_policy = 'cold'`, server.command)
  assert.deepEqual(server.run, [])
  await refused.run(`${alter}storage_policy = 'cold', merge_selector_base = 2.5`, server.command)
  assert.deepEqual(server.run, [`${alter}merge_selector_base = 2.5`])
  const other = new StoreError('other', 'clickhouse: no such table', { clickHouseCode: 60 })
  await assert.rejects(
    refused.run('ALTER TABLE sluice.events_1 DROP INDEX a', () => Promise.reject(other)),
    (cause) => cause === other,
  )
  const ofQuery = new StoreError('other', 'clickhouse: Setting max_threads', {
    clickHouseCode: 452,
  })
  await assert.rejects(
    refused.run(`${alter}a_b = 1`, () => Promise.reject(ofQuery)),
    (cause) => cause === ofQuery,
  )
})
