/**
 * Goal: who is signed in stays so, under any path of a proxy and beside other services, in every
 * tab; nobody else's page gets anything by it; it ends on the server.
 * Method: two services behind paths of one proxy, and Chromium; pages of other sites and of another
 * port on the same one. A short form of it is in `streams.test.ts`.
 */
import assert from 'node:assert/strict'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Page } from 'puppeteer-core'
import { Api, call } from '../../support/api.ts'
import {
  clickOn,
  fillIn,
  NO_BROWSER,
  openBrowser,
  type Seen,
  untilShown,
} from '../../support/browser.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const PATHS = ['/logs/web', '/sluice'] as const
const dirs = PATHS.map(() => makeDataDir())
const options = { skip: NO_BROWSER }
let services: Service[] = []
let proxy: Server
let hostile: Server
let seen: Seen

before(async () => {
  if (NO_BROWSER) return
  // Copies of one data directory would be one installation, with one name for its cookie.
  delete process.env.TEST_DATA
  services = await Promise.all(dirs.map((dataDir) => Service.start({ dataDir })))
  for (const service of services) {
    const api = new Api(service)
    const { key } = await api.createStream({ name: `of ${service.port}` })
    await api.ingest(key, '{"message":"seen here"}')
    await api.untilCounted('1', 1)
  }
  proxy = await listen(startProxy())
  hostile = await listen(
    createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>hi')),
  )
  seen = await openBrowser()
})

after(async () => {
  await seen?.browser.close()
  for (const server of [proxy, hostile]) server?.close()
  for (const service of services) await service.kill()
  for (const dir of dirs) await removeDataDir(dir)
})

/** As proxies do by default: the path is taken off, and `Host` is that of the service. */
function startProxy(): Server {
  return createServer((from, to) => {
    const at = PATHS.findIndex((path) => from.url?.startsWith(`${path}/`))
    if (at < 0) return void to.writeHead(404).end()
    const { url, port } = services[at]!
    const headers = { ...from.headers, host: `127.0.0.1:${port}` }
    const path = from.url!.slice(PATHS[at]!.length)
    const asked = request(url, { path, method: from.method, headers, agent: false }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(to)
    })
    asked.on('error', () => to.destroy())
    to.on('close', () => asked.destroy())
    from.pipe(asked)
  })
}

async function listen(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

const portOf = (server: Server) => (server.address() as AddressInfo).port
const consoleAt = (at: number) => `http://127.0.0.1:${portOf(proxy)}${PATHS[at]}/console/`

async function signIn(page: Page, token: string): Promise<void> {
  await fillIn(page, 'Access token', token)
  await clickOn(page, 'Sign in')
  await untilShown(page, 'Sign out')
}

/** The cookies of the browser, of whatever path. */
async function cookies() {
  const session = await seen.page.createCDPSession()
  const all = (await session.send('Storage.getCookies')).cookies
  return all.toSorted((a, b) => a.path.localeCompare(b.path))
}

test(
  'two services behind paths of one proxy: each in every tab, neither for the other',
  options,
  async () => {
    const { browser, page } = seen
    for (const at of [0, 1]) {
      await page.goto(`${consoleAt(at)}#/explore/1?from=-1h`)
      await untilShown(page, 'Sign in to see what the link shows')
      await signIn(page, services[at]!.token)
      await untilShown(page, 'seen here')
    }
    const set = await cookies()
    assert.deepEqual(
      set.map(({ path, httpOnly, sameSite, session }) => ({ path, httpOnly, sameSite, session })),
      PATHS.map((path) => ({
        path: `${path}/v1`,
        httpOnly: true,
        sameSite: 'Strict',
        session: false,
      })),
    )
    assert.equal(new Set(set.map(({ name }) => name)).size, 2)
    for (const at of [0, 1]) {
      const tab = await browser.newPage()
      await tab.goto(`${consoleAt(at)}#/explore/1?from=-1h`)
      await untilShown(tab, `of ${services[at]!.port}`)
      await tab.close()
    }
  },
)

test('two services on ports of one host do not sign each other out', options, async () => {
  const { browser } = seen
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  for (const { url, token } of services) {
    await page.goto(`${url}/console/#/streams`)
    await signIn(page, token)
  }
  for (const { url, port } of services) {
    await page.goto(`${url}/console/#/streams`)
    await untilShown(page, `of ${port}`)
  }
  await context.close()
})

test('the live tail and an export work by the cookie', options, async () => {
  const { page } = seen
  await page.goto(`${consoleAt(1)}#/explore/1?from=-1h&live=1`)
  await untilShown(page, 'seen here')
  const api = new Api(services[1]!)
  const { key } = await api.createKey('1')
  for (let turn = 0; ; turn++) {
    await api.ingest(key, JSON.stringify({ message: `came live ${turn}` }))
    if (String(await page.evaluate('document.body.innerText')).includes('came live')) break
    assert.ok(turn < 40, 'nothing came')
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  const lines = await page.evaluate(`fetch('../v1/streams/1/search', {
    method: 'POST',
    headers: {
      'X-Sluice-Session': '1',
      Accept: 'application/x-ndjson',
      'Content-Type': 'application/json',
    },
    body: '{"query":"seen"}',
  }).then((response) => response.text())`)
  assert.match(String(lines), /seen here/)
})

/** What a page at `origin` gets from the service that the browser is signed in to. */
async function attack(origin: string): Promise<readonly unknown[]> {
  const page = await seen.browser.newPage()
  await page.goto(origin)
  const target = `http://127.0.0.1:${portOf(proxy)}${PATHS[1]}/v1`
  const got = await page.evaluate(`Promise.all([
    fetch('${target}/me', { credentials: 'include' }),
    fetch('${target}/me', { credentials: 'include', headers: { 'X-Sluice-Session': '1' } }),
    fetch('${target}/streams', {
      method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"name":"forged"}',
    }),
    fetch('${target}/session', { method: 'DELETE', credentials: 'include' }),
  ].map((asked) => asked.then(({ type, status }) => type + status, () => 'refused')))`)
  await page.evaluate(`{
    const form = document.createElement('form')
    Object.assign(form, { method: 'post', action: '${target}/streams', enctype: 'text/plain' })
    form.innerHTML = '<input name=\\'{"name":"forged","x":"\\' value=\\'"}\\'>'
    document.body.append(form)
    form.submit()
  }`)
  await page.waitForNavigation().catch(() => undefined)
  const shown = String(await page.evaluate('document.body.innerText'))
  await page.close()
  return [...(got as unknown[]), /"status":\s*(\d+)/.exec(shown)?.[1]]
}

test(
  'pages of another site, and of another port of the same one, get nothing',
  options,
  async () => {
    const api = new Api(services[1]!)
    const before = await api.rest('/v1/streams')
    // Another site: it gets no cookie. The same site: the cookie comes, and is refused.
    const other = await attack(`http://localhost:${portOf(hostile)}/`)
    assert.deepEqual(other, ['refused', 'refused', 'opaque0', 'refused', '401'])
    const sibling = await attack(`http://127.0.0.1:${portOf(hostile)}/`)
    assert.deepEqual(sibling, ['refused', 'refused', 'opaque0', 'refused', '403'])
    assert.equal(await api.rest('/v1/streams'), before)
    await seen.page.reload()
    await untilShown(seen.page, 'Sign out')
  },
)

test(
  'a cookie opens neither ingest nor the agents, and no address by itself',
  options,
  async () => {
    const [, cookie] = await cookies()
    const headers = {
      cookie: `${cookie!.name}=${cookie!.value}`,
      'x-sluice-session': '1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const { url } = services[1]!
    assert.equal((await call(`${url}/v1/me`, { headers })).status, 200)
    for (const path of ['/v1/ingest', '/v1/logs', '/_bulk', '/mcp']) {
      const answer = await call(`${url}${path}`, { method: 'POST', headers, body: '{"a":1}' })
      assert.equal(answer.status, 401, path)
    }
    for (const name of ['x-api-key', 'authorization']) {
      const value = name === 'authorization' ? `Bearer ${cookie!.value}` : cookie!.value
      const own = { [name]: value, 'content-type': 'application/json' }
      assert.equal((await call(`${url}/v1/me`, { headers: own })).status, 401, name)
      const sent = { method: 'POST', headers: own, body: '{"a":1}' }
      assert.equal((await call(`${url}/v1/ingest`, sent)).status, 401, name)
    }
    // Who types the address of the API is no page of ours.
    const tab = await seen.browser.newPage()
    await tab.goto(consoleAt(1).replace('/console/', '/v1/me'))
    await untilShown(tab, 'Sec-Fetch-Site')
    await tab.close()
  },
)

test(
  'signing out in one tab signs out the others, and ends it on the server',
  options,
  async () => {
    const { browser, page } = seen
    const [, cookie] = await cookies()
    const tab = await browser.newPage()
    await tab.goto(`${consoleAt(1)}#/streams`)
    await untilShown(tab, 'Sign out')
    await clickOn(tab, 'Sign out')
    await untilShown(tab, 'Access token')
    await untilShown(page, 'Access token')
    assert.deepEqual(
      (await cookies()).map(({ path }) => path),
      [`${PATHS[0]}/v1`],
    )
    const headers = { cookie: `${cookie!.name}=${cookie!.value}`, 'x-sluice-session': '1' }
    assert.equal((await call(`${services[1]!.url}/v1/me`, { headers })).status, 401)
    await tab.close()
  },
)

test(
  'a narrower token is told what it lacks, and a revoked one ends the page',
  options,
  async () => {
    const { page } = seen
    const api = new Api(services[1]!)
    const { id: other } = await api.createStream({ name: 'other' })
    const make = async (scopes: readonly string[], streams: unknown) => {
      const made = await api.rest('/v1/tokens', 'POST', { scopes, streams })
      return JSON.parse(made) as { readonly id: string; readonly token: string }
    }
    const link = `${consoleAt(1)}#/explore/1?from=-1h&q=seen`
    await page.goto('about:blank')
    await page.goto(link)
    await untilShown(page, 'sees the stream with the id 1')
    const wrong = await make(['events:read', 'streams:read'], [other])
    await signIn(page, wrong.token)
    await untilShown(page, 'This token sees no stream with the id 1')
    await untilShown(page, 'for other alone')
    assert.equal(page.url(), link)
    await clickOn(page, 'Sign in with another token')
    const writer = await make(['streams:read'], '*')
    await signIn(page, writer.token)
    await untilShown(page, 'the scope events:read. This one has streams:read.')
    await clickOn(page, 'Sign in with another token')
    const reader = await make(['events:read'], ['1'])
    await signIn(page, reader.token)
    await untilShown(page, 'seen here')
    assert.equal(page.url(), link)
    await clickOn(page, 'Live')
    await page.waitForFunction("location.hash.includes('live=1')")
    await api.rest(`/v1/tokens/${reader.id}`, 'DELETE')
    await untilShown(page, 'You are signed out')
    await untilShown(page, 'Access token')
  },
)

test('no script failed but for what was refused', options, () => {
  const meant = /status of (401|403|404)/
  assert.deepEqual(
    seen.faults.filter((fault) => !meant.test(fault)),
    [],
  )
})
