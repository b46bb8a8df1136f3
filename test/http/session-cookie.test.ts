/**
 * Goal: a cookie stands for its owner in requests of this service's own pages, and in no others;
 * whatever else a request shows counts before it. All engines agree.
 * Method: heads as browsers, proxies and hostile pages send them, to each engine that loads.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import { guardRoute } from '../../src/http/guard.ts'
import {
  clearSessionCookie,
  isByHttps,
  readOrigin,
  SESSION_HEADER,
  setSessionCookie,
} from '../../src/http/session-cookie.ts'
import type { Principal } from '../../src/model/stream.ts'
import { ENGINES, RawClient, startServer } from './raw-client.ts'

const PAGE = 'http://logs.example.com'
const COOKIE = 'Cookie: sluice_1a2b3c4d=good'
const OWN = `${SESSION_HEADER}: 1`

const principal = (owner: string): Principal => {
  return { tokenId: 1, owner, scopes: new Set(), streamIds: undefined }
}
const refuse = () => Promise.reject(new IngestError('unauthenticated', 'not known'))
const ABOUT = { operationId: 'x', summary: '', tag: '', answers: {} }
const guard = {
  resolveToken: (text: string) =>
    text === 'lap_good' ? Promise.resolve(principal('token')) : refuse(),
}
const sessions = {
  cookieName: 'sluice_1a2b3c4d',
  resolve: (text: string, origin: string) => {
    const isGood = text === 'good' && (origin === '' || origin === PAGE)
    return isGood ? Promise.resolve(principal('cookie')) : refuse()
  },
}
const run = async (request: { readonly principal: Principal }) => {
  return { status: 200, contentType: 'text/plain', body: request.principal.owner }
}
const about = { ...ABOUT, method: 'POST', run } as const
const routes = [
  guardRoute({ ...guard, sessions }, { ...about, pattern: '/page' }),
  guardRoute(guard, { ...about, pattern: '/program' }),
]

/** Lines of the head, and who asks by it, or the status of the refusal. */
const CASES: readonly (readonly [what: string, lines: readonly string[], outcome: string])[] = [
  ['of the page', [COOKIE, OWN, 'Sec-Fetch-Site: same-origin', `Origin: ${PAGE}`], 'cookie'],
  ['of the page, by http', [COOKIE, OWN, `Origin: ${PAGE}`], 'cookie'],
  ['of the page, a GET by http', [COOKIE, OWN], 'cookie'],
  ['among other cookies', [`Cookie: a=b; x; sluice_1a2b3c4d=good ;c=d`, OWN], 'cookie'],
  ['behind Basic of a proxy', [COOKIE, OWN, 'Authorization: Basic eDp5'], 'cookie'],
  ['without our header', [COOKIE, 'Sec-Fetch-Site: same-origin'], '403'],
  ['a form of another site', [COOKIE, 'Sec-Fetch-Site: cross-site', 'Origin: null'], '403'],
  ['a page of a sibling', [COOKIE, OWN, 'Sec-Fetch-Site: same-site'], '403'],
  ['typed in', [COOKIE, OWN, 'Sec-Fetch-Site: none'], '403'],
  ['another origin', [COOKIE, OWN, 'Origin: http://logs.example.com:81'], '401'],
  ['an origin that is none', [COOKIE, OWN, 'Origin: null'], '401'],
  ['a wrong cookie', ['Cookie: sluice_1a2b3c4d=bad', OWN], '401'],
  ['an empty cookie', ['Cookie: sluice_1a2b3c4d=', OWN], '401'],
  ['the cookie twice', ['Cookie: sluice_1a2b3c4d=good; sluice_1a2b3c4d=bad', OWN], '401'],
  ['two lines', [COOKIE, 'Cookie: sluice_1a2b3c4d=bad', OWN], '401'],
  ['of another installation', ['Cookie: sluice_99999999=good', OWN], '401'],
  ['with a token', [COOKIE, OWN, 'Authorization: Bearer lap_good'], 'token'],
  ['with a token, of any page', [COOKIE, 'Authorization: Bearer lap_good'], 'token'],
  ['with a wrong token', [COOKIE, OWN, 'Authorization: Bearer lap_bad'], '401'],
  ['with an API key', [COOKIE, OWN, 'X-API-Key: lax_bad'], '401'],
]

for (const engine of ENGINES) {
  describe(`cookies on ${engine.name} ${engine.version}`, () => {
    const received = async (port: number, path: string, lines: readonly string[]) => {
      const client = await RawClient.connect(port)
      const head = ['Host: logs.example.com', 'Content-Length: 0', 'Connection: close', ...lines]
      client.write(Buffer.from(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`))
      const deadline = performance.now() + 5_000
      const isWhole = () => /\r\n\r\n(?:\{.*\}|\w+)/s.test(client.received)
      while (!isWhole() && performance.now() < deadline) await new Promise(setImmediate)
      client.destroy()
      return client.received
    }
    const ask = async (port: number, path: string, lines: readonly string[]) => {
      const text = await received(port, path, lines)
      const [, status = ''] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? []
      return status === '200' ? (/\w+$/.exec(text.trimEnd())?.[0] ?? '') : status
    }
    test('what a request must be like to show one', async () => {
      const { server, port } = await startServer({ routes, engine })
      try {
        for (const [what, lines, outcome] of CASES) {
          assert.equal(await ask(port, '/page', lines), outcome, what)
        }
        const own = [COOKIE, OWN, 'Sec-Fetch-Site: same-origin']
        assert.equal(await ask(port, '/program', own), '401', 'only routes of pages take it')
        const cached = async (lines: readonly string[]) =>
          /^cache-control: (.*)$/im.exec(await received(port, '/page', lines))?.[1]?.trim()
        assert.equal(await cached(own), 'no-store')
        assert.equal(await cached([COOKIE]), 'no-store', 'a refusal, too')
        assert.equal(await cached(['Authorization: Bearer lap_good']), undefined)
      } finally {
        server.close()
      }
    })
  })
}

test('the cookie is out of reach of scripts, other sites and, by HTTPS, of plain requests', () => {
  const session = { text: 'secret', expiresAtMs: Date.now() + 60_500 }
  assert.deepEqual(setSessionCookie('n', session, false), [
    'Set-Cookie',
    'n=secret; Max-Age=60; HttpOnly; SameSite=Strict',
  ])
  assert.match(setSessionCookie('n', session, true)[1], /; Secure$/)
  assert.equal(clearSessionCookie('n', false)[1], 'n=; Max-Age=0; HttpOnly; SameSite=Strict')
})

test('the browser itself says best whether it asked by HTTPS', () => {
  const [http, https] = [{ origin: PAGE }, { origin: 'https://logs.example.com' }]
  assert.deepEqual([isByHttps(http, true), isByHttps(https, false)], [false, true])
  assert.equal(isByHttps({ 'x-forwarded-proto': 'https, http' }, false), true)
  assert.equal(isByHttps({ 'x-forwarded-proto': 'http' }, true), false)
  assert.deepEqual([isByHttps({}, true), isByHttps({ origin: 'null' }, false)], [true, false])
})

test('an origin is one, and not long', () => {
  assert.equal(readOrigin({}), '')
  assert.equal(readOrigin({ origin: 'https://a.example:8443' }), 'https://a.example:8443')
  for (const origin of ['null', 'x', 'https://a.example/', `https://${'a'.repeat(400)}.example`]) {
    assert.throws(() => readOrigin({ origin }), /header Origin/)
  }
})
