/**
 * Goal: the console's files are sent with their headers, and a one-time link signs in once.
 * Method: the routes on a server of their own, over its socket.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { readConsoleFiles } from '../../src/console/console-files.ts'
import { consoleRoutes } from '../../src/console/console-routes.ts'
import { SIGNED_IN_MS, SignInCodes, signInRoute } from '../../src/console/sign-in.ts'
import { createServer, type HttpServer } from '../../src/http/server.ts'
import { SIGN_IN_MS_MAX } from '../../src/limits.ts'
import { call, JSON_TYPE } from '../support/api.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-console-'))
const clock = { nowMs: Date.now() }
const codes = new SignInCodes(() => clock.nowMs)
const made: { expiresAtMs: number }[] = []
const store = { isAway: false, answers: Promise.resolve() }
let failures = 0
let server: HttpServer
let url = ''

before(async () => {
  writeFileSync(join(folder, 'index.html'), '<title>page</title>')
  writeFileSync(join(folder, 'console-AAAA2222.js'), 'script()')
  writeFileSync(join(folder, 'console-AAAA2222.js.br'), brotliCompressSync('script()'))
  writeFileSync(join(folder, 'icon.svg'), '<svg/>')
  writeFileSync(join(folder, 'notes.txt'), 'not for anybody')
  server = createServer({
    routes: [
      ...consoleRoutes(readConsoleFiles(folder)),
      signInRoute(codes, {
        cookieName: 'sluice_test',
        isTls: false,
        createToken: async (token) => {
          if (store.isAway) throw new Error('the store does not answer')
          await store.answers
          made.push(token)
          return { tokenId: made.length, text: `lap_${made.length}` }
        },
        beginSession: async (tokenId, origin) => {
          return { text: `las_${tokenId}_${origin}`, expiresAtMs: Date.now() + SIGNED_IN_MS }
        },
      }),
    ],
    onError: (error) => {
      assert.match(String(error), /the store does not answer/)
      failures++
    },
  })
  url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
})

after(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

test('the page is never cached, its files are; both carry the security headers', async () => {
  const page = await call(`${url}/console/`)
  assert.deepEqual([page.status, page.text], [200, '<title>page</title>'])
  assert.equal(page.headers['cache-control'], 'no-cache')
  const script = await call(`${url}/console/console-AAAA2222.js`)
  assert.match(String(script.headers['cache-control']), /immutable/)
  for (const { headers } of [page, script]) {
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /default-src 'self'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.doesNotMatch(policy, /unsafe/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
  }
  const moved = await call(`${url}/console`)
  assert.deepEqual([moved.status, moved.headers.location], [308, 'console/'])
})

test('only names with a hash are for ever; the rest is asked for by its tag', async () => {
  for (const path of ['', 'index.html', 'icon.svg']) {
    const first = await call(`${url}/console/${path}`)
    assert.deepEqual([first.status, first.headers['cache-control']], [200, 'no-cache'], path)
    const tag = String(first.headers.etag)
    assert.match(tag, /^"[\w-]+"$/, path)
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await call(`${url}/console/${path}`, { headers: { 'if-none-match': known } })
      assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', tag], path)
      assert.match(String(again.headers['content-security-policy']), /default-src 'self'/)
    }
    const other = await call(`${url}/console/${path}`, { headers: { 'if-none-match': '"other"' } })
    assert.equal(other.status, 200, path)
  }
  const script = `${url}/console/console-AAAA2222.js`
  const tagOf = async (encoding: string) =>
    (await fetch(script, { headers: { 'accept-encoding': encoding } })).headers.get('etag')
  assert.notEqual(await tagOf('br'), await tagOf('gzip'), 'a tag is of bytes')
})

test('clients that accept brotli get it, others do not', async () => {
  const ask = (encoding: string) =>
    fetch(`${url}/console/console-AAAA2222.js`, { headers: { 'accept-encoding': encoding } })
  const compressed = await ask('gzip, br')
  assert.equal(compressed.headers.get('content-encoding'), 'br')
  assert.equal(await compressed.text(), 'script()')
  for (const encoding of ['gzip', 'br;q=0', 'x-br']) {
    const plain = await ask(encoding)
    assert.equal(plain.headers.get('content-encoding'), null, encoding)
    assert.equal(await plain.text(), 'script()')
  }
  assert.equal(String(brotliDecompressSync(brotliCompressSync('x'))), 'x')
})

test('no other file of the folder, and nothing beside it', async () => {
  for (const path of ['notes.txt', 'console-AAAA2222.js.br', '..%2F..%2Fpackage.json', 'x.js']) {
    assert.equal((await call(`${url}/console/${path}`)).status, 404, path)
  }
  assert.equal(readConsoleFiles(join(folder, 'none')).size, 0)
})

const signIn = (body: string) =>
  call(`${url}/v1/sign-in`, { method: 'POST', headers: { 'content-type': JSON_TYPE }, body })

test('a code is worth a token once, within SIGN_IN_MS_MAX', async () => {
  const body = JSON.stringify({ code: codes.create() })
  const late = JSON.stringify({ code: codes.create() })
  const first = await signIn(body)
  assert.equal(first.status, 200)
  assert.equal(JSON.parse(first.text).token, 'lap_1')
  assert.equal(first.headers['cache-control'], 'no-store')
  const lasts = made[0]!.expiresAtMs - Date.now()
  assert.ok(lasts <= SIGNED_IN_MS && lasts > SIGNED_IN_MS - 60_000, `${lasts} ms`)
  assert.equal((await signIn(body)).status, 401)
  clock.nowMs += SIGN_IN_MS_MAX
  assert.equal((await signIn(late)).status, 401)
  assert.equal(made.length, 1)
})

test('where a page asks for it, a code is worth a cookie, and no token is told', async () => {
  const body = JSON.stringify({ code: codes.create(), session: true })
  const headers = { 'content-type': JSON_TYPE, origin: 'https://logs.example.com' }
  const odd = { ...headers, origin: 'null' }
  const refused = await call(`${url}/v1/sign-in`, { method: 'POST', headers: odd, body })
  assert.equal(refused.status, 400)
  const answer = await call(`${url}/v1/sign-in`, { method: 'POST', headers, body })
  assert.deepEqual([answer.status, Object.keys(JSON.parse(answer.text))], [200, ['expires_at']])
  const [cookie = ''] = answer.headers['set-cookie'] ?? []
  assert.match(cookie, /^sluice_test=las_\d+_https:\/\/logs\.example\.com; Max-Age=43[12]\d\d; /)
  assert.match(cookie, /; HttpOnly; SameSite=Strict; Secure$/)
  assert.equal((await signIn(body)).status, 401)
})

test('a failure of the store spends no code, and nobody gets two tokens for one', async () => {
  const body = JSON.stringify({ code: codes.create() })
  const before = made.length
  store.isAway = true
  for (let turn = 1; turn <= 2; turn++) {
    assert.equal((await signIn(body)).status, 500)
    assert.equal(failures, turn)
  }
  store.isAway = false
  let answer = () => {}
  store.answers = new Promise((resolve) => (answer = resolve))
  const both = [signIn(body), signIn(body)]
  const refused = await Promise.race(both)
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
  answer()
  const statuses = (await Promise.all(both)).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [200, 503])
  assert.equal((await signIn(body)).status, 401)
  assert.equal(made.length, before + 1)
})

test('what is no code is refused without a word about codes', async () => {
  for (const [body, status] of [
    ['{}', 400],
    ['{"code":5}', 400],
    ['x', 400],
    [`{"code":"${'x'.repeat(2_000)}"}`, 413],
    ['{"code":"guessed"}', 401],
  ] as const) {
    assert.equal((await signIn(body)).status, status, body)
  }
})
