/**
 * Goal: a person gets from a fresh service to a stream, a key and a first event by the page alone,
 * sees the schema, makes a rule of alerts, tries redaction, and deletes the stream. Nothing that
 * events hold becomes HTML.
 * Method: Chromium against a running service; errors of scripts and of the security policy fail.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { HTTPRequest } from 'puppeteer-core'
import { Api, NDJSON_TYPE } from '../../support/api.ts'
import {
  clickOn,
  fillIn,
  load,
  NO_BROWSER,
  openBrowser,
  type Seen,
  signIn,
  untilShown,
  untilTrue,
} from '../../support/browser.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const dataDir = makeDataDir()
let service: Service
let seen: Seen

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  seen = await openBrowser()
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }

test(
  'a wrong token is told, a key is named as what it is, the right one signs in',
  options,
  async () => {
    const { page } = seen
    await page.goto(`${service.url}/`)
    assert.ok(page.url().endsWith('/console/'), page.url())
    await fillIn(page, 'Access token', 'lax_abcdefgh_0000000000000000000000000000000000000000')
    await clickOn(page, 'Sign in')
    await untilShown(page, 'This is an API key')
    await fillIn(page, 'Access token', 'lap_abcdefgh_0000000000000000000000000000000000000000')
    await clickOn(page, 'Sign in')
    await untilShown(page, 'does not know this token')
    await fillIn(page, 'Access token', service.token)
    await clickOn(page, 'Sign in')
    await untilShown(page, 'Sign out')
    // The browser's own line about the 401.
    assert.equal(forget(/401/), 1)
    // No script of the page can get at what signs it in, and a new tab needs nothing.
    const kept = 'JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])'
    assert.doesNotMatch(String(await page.evaluate(kept)), /la[psx]_|[A-Za-z0-9]{40}/)
    const tab = await seen.browser.newPage()
    await tab.goto(`${service.url}/console/#/streams`)
    await untilShown(tab, 'No stream yet')
    await tab.close()
  },
)

test('a stream, a key with snippets, and a first event', options, async () => {
  const { page } = seen
  await clickOn(page, 'Streams')
  await untilShown(page, 'No stream yet')
  await clickOn(page, 'New stream')
  await fillIn(page, 'Name', 'web')
  await clickOn(page, '7d')
  await clickOn(page, 'Create stream')
  await untilShown(page, 'API keys')
  await page.waitForSelector('form.inline')
  // As two quick keys do it.
  await page.evaluate(
    "for (let n = 0; n < 2; n++) document.querySelector('form.inline').requestSubmit()",
  )
  await untilShown(page, 'It is shown only now')
  const snippet = String(await page.evaluate("document.querySelector('.snippet pre').innerText"))
  assert.match(snippet, /^curl -sS http:\/\/127\.0\.0\.1:\d+\/v1\/ingest -H 'X-API-Key: lax_/)
  await clickOn(page, 'Send a test event')
  await untilShown(page, 'Stored, durably')
  await clickOn(page, 'Settings')
  await fillIn(page, 'Name', 'web-2')
  await clickOn(page, 'Save')
  await untilTrue(page, "document.querySelector('h1')?.innerText === 'web-2'")
  const api = new Api(service)
  const stream = JSON.parse(await api.rest('/v1/streams/1'))
  assert.deepEqual([stream.name, stream.retention], ['web-2', '7d'])
  const { events } = JSON.parse(await api.rest('/v1/streams/1/events'))
  assert.equal(events[0].payload.message, 'A test event from the console')
  assert.equal(JSON.parse(await api.rest('/v1/streams/1/keys')).keys.length, 1)
})

test('what events hold is text on the page, never HTML', options, async () => {
  const { page } = seen
  const api = new Api(service)
  const { key } = await api.createKey('1')
  const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202e'
  const events = [{ [hostile]: hostile, message: hostile }, { message: 5 }]
  assert.equal((await api.ingest(key, JSON.stringify(events))).status, 200)
  await api.untilCounted('1', 3)
  await clickOn(page, 'Schema')
  await untilShown(page, '<img src=x')
  await untilShown(page, 'conflict')
  await page.evaluate("document.querySelector('button.path').click()")
  await untilShown(page, 'In the last 24 hours')
  await clickOn(page, 'Shapes')
  await untilShown(page, 'Last seen')
  await clickOn(page, 'Usage')
  await untilShown(page, 'Queries see all that is stored.')
  await untilShown(page, 'Bytes as sent, also of events that are not held any more')
  await load(page, `${service.url}/console/#/streams?name=nothing&sort=-events`)
  await untilShown(page, 'No stream has that in its name.')
  await fillIn(page, 'Filter streams by name', 'EB-')
  await untilTrue(page, "document.querySelector('tbody td.number')?.innerText === '3'")
  await page.waitForSelector('th[aria-sort=descending]')
  await page.click('.table tbody a')
  await clickOn(page, 'Usage')
  assert.equal(await page.title(), 'web-2 · Sluice')
})

test('a rule of what is searched for, after what it would have done', options, async () => {
  const { page } = seen
  await load(page, `${service.url}/console/#/explore/1?q=%22%3Cimg%20src%22`)
  await clickOn(page, 'Alert…')
  await untilShown(page, 'in the last 7d: 2,016 windows')
  // Two quick keys make it once.
  const puts: string[] = []
  const count = (request: HTTPRequest) => {
    if (request.method() === 'PUT') puts.push(request.url())
  }
  page.on('request', count)
  await page.evaluate("for (const _ of 'ab') document.querySelector('form').requestSubmit()")
  await untilShown(page, 'Fires when count > 0 in 5m, of "<img src" in web-2, by receipt.')
  page.off('request', count)
  assert.equal(puts.length, 1)
  await clickOn(page, 'Alerts')
  await untilShown(page, '1 rule')
  const rule = JSON.parse(await new Api(service).rest('/v1/alerts/rules/web-2-img-src'))
  assert.deepEqual([rule.streams, rule.query], [['1'], '"<img src"'])
})

test('Resolve says what changes and what stays, and only then does it', options, async () => {
  const { page } = seen
  const api = new Api(service)
  const { key } = await api.createKey('1')
  await api.ingest(key, '{"odd":1}\n{"odd":2}\n{"odd":"x"}', { 'content-type': NDJSON_TYPE })
  const address = `${service.url}/console/#/schema/1?field=odd`
  await page.goto(address)
  await untilShown(page, '▲ conflict')
  await clickOn(page, 'Resolve…')
  await untilShown(page, 'What stays: every event as it was sent')
  const types = "[...document.querySelectorAll('dialog tbody tr')].map((row) => row.innerText)"
  const [integer, string] = (await page.evaluate(types)) as string[]
  assert.match(`${integer}\n${string}`, /^integer\s+67 %.*\s+string\s+33 %.*kept$/s)
  await page.keyboard.press('Escape')
  await page.waitForSelector('dialog', { hidden: true })
  await untilShown(page, '▲ conflict')
  await clickOn(page, 'Resolve…')
  await clickOn(page, 'Keep string, forget integer')
  await untilTrue(page, "!document.body.innerText.includes('▲ conflict')")
})

test('redaction shows what it would store, as one types', options, async () => {
  const { page } = seen
  await clickOn(page, 'Redaction')
  await untilShown(page, 'denylisted key')
  await fillIn(page, 'A sample', '{"card":"4000","note":"fine"}')
  await untilShown(page, 'Nothing in it looks like a secret')
  await fillIn(page, 'More paths to redact', 'card')
  await untilShown(page, '"card": "[REDACTED]"')
})

test(
  'a token that only reads is offered no change, and is told what it lacks',
  options,
  async () => {
    const { page } = seen
    const body = { scopes: ['streams:read'], streams: ['1'] }
    const { token } = JSON.parse(await new Api(service).rest('/v1/tokens', 'POST', body))
    const as = async (text: string, hash: string, shows: string) => {
      await signIn(page, text)
      await load(page, `${service.url}/console/${hash}`)
      await untilShown(page, shows)
      return String(await page.evaluate('document.body.innerText'))
    }
    const changes = /\b(?:Delete|Settings|New key|Revoke|Tokens)\b/
    assert.doesNotMatch(await as(token, '#/streams/1', 'lax_'), changes)
    await as(token, '#/explore/1', 'That needs a token with the scope events:read.')
    const all = await as(service.token, '#/streams/1', 'lax_')
    for (const change of ['Delete', 'Settings', 'New key', 'Revoke', 'Tokens']) {
      assert.ok(all.includes(change), change)
    }
    // Explore asks before it is known what the token may do.
    forget(/403/)
  },
)

test('what is below the figures stays where it is when they arrive', options, async () => {
  const { page } = seen
  const held: HTTPRequest[] = []
  let isHolding = true
  const hold = (request: HTTPRequest) => {
    if (isHolding && request.url().endsWith('/usage')) held.push(request)
    else void request.continue()
  }
  await clickOn(page, 'Streams')
  await page.setRequestInterception(true)
  page.on('request', hold)
  await page.goto(`${service.url}/console/#/streams/1`)
  await untilShown(page, 'Newest event')
  const button = await page.waitForSelector('::-p-aria([name="New key"])')
  const before = await button!.boundingBox()
  isHolding = false
  for (const request of held) void request.continue()
  await untilShown(page, 'of 1000')
  assert.deepEqual(await button!.boundingBox(), before)
  page.off('request', hold)
  await page.setRequestInterception(false)
})

test('a stream is deleted when its name was typed', options, async () => {
  const { page } = seen
  await page.goto(`${service.url}/console/#/streams/1`)
  await clickOn(page, 'Delete')
  await fillIn(page, 'Type web-2 to confirm', 'web-2')
  await clickOn(page, 'Delete stream')
  await untilShown(page, 'No stream yet')
  await clickOn(page, 'Sign out')
  await untilShown(page, 'Access token')
})

test('no script failed and the security policy was never violated', options, () => {
  assert.deepEqual(seen.faults, [])
})

/** Takes back faults that were meant to be; how many there were. */
function forget(pattern: RegExp): number {
  const faults = seen.faults as string[]
  const expected = faults.filter((fault) => pattern.test(fault))
  for (const fault of expected) faults.splice(faults.indexOf(fault), 1)
  return expected.length
}
