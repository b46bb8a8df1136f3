/**
 * Goal: a URL means to us what it means to libpq: several servers, each with its port, from the
 * authority or the parameters; what cannot be used is refused without a word of the password.
 * Method: literal tables.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePostgresUrl } from '../../src/store/postgres-url.ts'
import { StoreError } from '../../src/store/store-error.ts'

const on = (host: string, port: number) => ({ host, port })

const SEVERAL = [
  ['postgres://u:p@a:1,b:2/d', [on('a', 1), on('b', 2)], 'postgres://u:p@a:1/d'],
  ['postgresql://u:p@a,b/d', [on('a', 5432), on('b', 5432)], 'postgresql://u:p@a:5432/d'],
  ['postgres://a,b:7/d', [on('a', 5432), on('b', 7)], 'postgres://a:5432/d'],
  [
    'postgres://u@[::1]:1,[fe80::2]/d',
    [on('::1', 1), on('fe80::2', 5432)],
    'postgres://u@[::1]:1/d',
  ],
  ['postgres://u:p@%2Frun,b/d', [on('/run', 5432), on('b', 5432)], 'postgres://u:p@%2Frun:5432/d'],
  ['postgres://u:p@/d?host=a,b', [on('a', 5432), on('b', 5432)], 'postgres://u:p@a:5432/d'],
  ['postgres://u:p@/d?host=a,b&port=9', [on('a', 9), on('b', 9)], 'postgres://u:p@a:9/d'],
  ['postgres://x:3/d?host=a,/run&port=1,2', [on('a', 1), on('/run', 2)], 'postgres://a:1/d'],
  ['postgres://a,b/d?port=1,', [on('a', 1), on('b', 5432)], 'postgres://a:1/d'],
  ['postgres://u:p,@a:1,b:2/d', [on('a', 1), on('b', 2)], 'postgres://u:p,@a:1/d'],
] as const

for (const [url, servers, first] of SEVERAL) {
  test(`several servers: ${url}`, () => {
    const parsed = parsePostgresUrl(url)
    assert.deepEqual(parsed.servers, servers)
    assert.equal(parsed.url, first)
    assert.equal(parsed.sessionAttrs, 'read-write', 'of several the one that takes writes')
  })
}

test('the driver gets the other parameters, and none of ours', () => {
  const ours = 'target_session_attrs=primary&connect_timeout=4&load_balance_hosts=random'
  const parsed = parsePostgresUrl(`postgres://u:p@a,b/d?${ours}&sslmode=require&options=-c%20x%3D1`)
  assert.equal(parsed.url, 'postgres://u:p@a:5432/d?sslmode=require&options=-c+x%3D1')
  assert.equal(parsed.sessionAttrs, 'primary')
  assert.equal(parsed.connectMsMax, 4_000)
})

test('a URL of one server stays as it is', () => {
  for (const url of [
    'postgres://u:p@h/d',
    'postgres://u@%2Frun:5432/d',
    'postgres:///d?host=/run',
  ]) {
    const plain = { url, servers: [], sessionAttrs: 'any', connectMsMax: undefined }
    assert.deepEqual(parsePostgresUrl(url), plain)
  }
  const one = parsePostgresUrl('postgres://u:p@h/d?target_session_attrs=read-write')
  assert.equal(one.sessionAttrs, 'read-write')
  assert.equal(one.url, 'postgres://u:p@h/d')
})

const REFUSED = [
  ['http://u:hush@h/d', /must start with postgres:\/\//],
  ['hush', /not a valid URL/],
  ['postgres://u:hush@[bad/d', /not a valid URL/],
  ['postgres://u:hush@a:x,b/d', /a server that is not host:port/],
  ['postgres://u:hush@a:0,b/d', /a port that is not 1 to 65535/],
  ['postgres://u:hush@a,b,c/d?port=1,2', /3 hosts and 2 ports/],
  ['postgres://u:hush@a%ZZ,b/d', /not a valid URL/],
  [`postgres://u:hush@${'a,'.repeat(16)}a/d`, /over 16 servers \(POSTGRES_SERVERS_MAX\)/],
  ['postgres://u:hush@a/d?target_session_attrs=prefer-standby', /any, primary, read-write/],
  ['postgres://u:hush@a/d?connect_timeout=soon', /connect_timeout/],
] as const

for (const [url, message] of REFUSED) {
  test(`refused: ${url.slice(0, 60)}`, () => {
    assert.throws(
      () => parsePostgresUrl(url),
      (error) => {
        assert.ok(error instanceof StoreError)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /hush/)
        return true
      },
    )
  })
}
