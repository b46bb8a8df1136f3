/** Goal: a ClickHouse is found by its URL, and the projection's database is a plain name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseClickHouseUrl, unixClickHouseUrl } from '../../src/store/clickhouse-address.ts'

test('the path of the URL is the database; the session begins without one', () => {
  const { url, database } = parseClickHouseUrl('http://me:pass@host:8123/fleet_2', 1)
  assert.equal(database, 'fleet_2')
  assert.equal(url, 'http://me:pass@host:8123/')
  assert.equal(parseClickHouseUrl('https://host:8443', 1).database, 'sluice')
  const embedded = parseClickHouseUrl(`${unixClickHouseUrl('me', 'pass', '/run/a b')}fleet`, 1)
  assert.deepEqual(
    [embedded.database, embedded.socket?.socketPath, embedded.socket?.password],
    ['fleet', '/run/a b', 'pass'],
  )
})

test('a database that would need quotes is refused, without the password', () => {
  for (const path of ['a-b', 'a%20b', 'a/b', '1a', "a'b", 'x'.repeat(64)]) {
    assert.throws(
      () => parseClickHouseUrl(`http://me:secret@host:8123/${path}`, 1),
      (cause: Error) => /database must match/.test(cause.message) && !/secret/.test(cause.message),
      path,
    )
  }
})
