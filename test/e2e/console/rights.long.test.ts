/**
 * Goal: the page offers what the token may do and nothing else, says which scope a screen lacks,
 * and makes, shows and revokes tokens.
 * Method: Chromium against a running service, signed in with one token after another. A short form
 * of it is in `streams.test.ts`.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api } from '../../support/api.ts'
import {
  clickOn,
  fillIn,
  NO_BROWSER,
  openBrowser,
  type Seen,
  signIn,
  untilShown,
} from '../../support/browser.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const CHANGES = /^(?:New |Delete|Revoke|Settings|Resolve|everybody|only its maker)/
const dataDir = makeDataDir()
let service: Service
let seen: Seen
let api: Api

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  api = new Api(service)
  for (const name of ['web', 'secret']) {
    const { id, key } = await api.createStream({ name })
    await api.ingest(key, '{"n":1}\n{"n":"one"}', { 'content-type': 'application/x-ndjson' })
    await api.untilCounted(id, 2)
    await api.rest(`/v1/streams/${id}/views`, 'POST', { name: `view of ${name}` })
  }
  seen = await openBrowser()
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }

async function makeToken(scopes: readonly string[], streams: unknown = '*'): Promise<string> {
  const made = await api.rest('/v1/tokens', 'POST', { name: scopes.join(' '), scopes, streams })
  return (JSON.parse(made) as { readonly token: string }).token
}

/** Signs in by the page's own storage, and goes there. */
async function open(token: string, hash: string, shows: string): Promise<void> {
  const { page } = seen
  await page.goto(`${service.url}/console/`)
  await signIn(page, token)
  await page.evaluate(`history.replaceState(null, '', ${JSON.stringify(hash)})`)
  await page.reload()
  await untilShown(page, shows)
}

/** Texts of the buttons and links of the screen and its frame. */
async function offered(): Promise<string[]> {
  const texts = `[...document.querySelectorAll('button, nav a')]
    .filter((one) => !one.disabled).map((one) => one.innerText.trim())`
  return (await seen.page.evaluate(texts)) as string[]
}

const SCREENS = [
  ['#/streams', 'As sent', 'New stream'],
  ['#/streams/1', 'lax_', 'Delete'],
  ['#/views/1', 'view of web', 'Delete'],
  ['#/schema/1', '▲ conflict', 'Resolve…'],
] as const

test('who only reads is offered nothing that changes', options, async () => {
  const reader = await makeToken(['streams:read', 'events:read'])
  for (const [hash, shows, button] of SCREENS) {
    await open(reader, hash, shows)
    const texts = await offered()
    assert.deepEqual(
      texts.filter((text) => CHANGES.test(text) || text === 'Tokens'),
      [],
      hash,
    )
    await open(service.token, hash, shows)
    assert.ok((await offered()).includes(button), `${hash} offers an admin ${button}`)
  }
})

test('a token of one stream changes it, and makes and deletes none', options, async () => {
  const writer = await makeToken(['streams:read', 'streams:write', 'events:read'], ['1'])
  await open(writer, '#/streams', 'As sent')
  const shown = String(await seen.page.evaluate('document.body.innerText'))
  assert.ok(shown.includes('web') && !shown.includes('secret'), shown)
  assert.ok(!(await offered()).includes('New stream'))
  await open(writer, '#/streams/1', 'lax_')
  const texts = await offered()
  assert.deepEqual([texts.includes('Settings'), texts.includes('Delete')], [true, false])
  await open(writer, '#/streams/2', 'does not see it')
})

test('what a token lacks is told', options, async () => {
  const searcher = await makeToken(['events:read'])
  await open(searcher, '#/streams', 'This token cannot look at streams')
  await untilShown(seen.page, 'the scope streams:read. This one has events:read.')
  await open(searcher, '#/explore', '4 loaded')
  await open(await makeToken(['streams:read']), '#/explore/1', 'This token cannot read events')
  await untilShown(seen.page, 'the scope events:read. This one has streams:read.')
  await open(await makeToken(['streams:read']), '#/tokens', 'This token cannot manage tokens')
  assert.ok(!(await offered()).includes('Tokens'))
  const { id } = await api.createStream({ name: 'going' })
  const last = await makeToken(['streams:read', 'events:read'], [id])
  await api.rest(`/v1/streams/${id}`, 'DELETE')
  await open(last, '#/explore', 'This token sees no stream')
})

test('who signs in next sees nothing of what was listed before', options, async () => {
  const { page } = seen
  await open(service.token, '#/streams', 'secret')
  await clickOn(page, 'Sign out')
  await fillIn(page, 'Access token', await makeToken(['events:read'], ['1']))
  await clickOn(page, 'Sign in')
  await untilShown(page, 'This token cannot look at streams')
  await clickOn(page, 'Explore')
  await untilShown(page, '2 loaded')
  const text = String(await page.evaluate('document.documentElement.innerHTML'))
  assert.doesNotMatch(text, /secret|New stream|>Tokens</)
})

test('a token is made for one stream, is shown once, works, and is revoked', options, async () => {
  const { page } = seen
  await open(service.token, '#/streams', 'As sent')
  await clickOn(page, 'Tokens')
  await untilShown(page, 'first admin token (this one)')
  await clickOn(page, 'New token')
  await fillIn(page, 'Name', 'dashboards')
  await page.locator('::-p-text(Only some streams)').click()
  await page.locator('dialog label::-p-text(web)').click()
  await clickOn(page, 'Create token')
  await untilShown(page, 'It is shown only now')
  const token = String(await page.evaluate("document.querySelector('.secret').innerText"))
  const own = JSON.parse(await new Api({ url: service.url, token }).rest('/v1/me'))
  assert.deepEqual(
    [own.name, own.owner, own.scopes, own.streams],
    ['dashboards', 'admin', ['streams:read', 'events:read'], ['1']],
  )
  const days = (Date.parse(own.expires_at) - Date.parse(own.created_at)) / 86_400_000
  assert.equal(Math.round(days), 90)
  await page.reload()
  await untilShown(page, 'dashboards')
  assert.ok(!String(await page.evaluate('document.body.innerText')).includes(token))
  await clickOn(page, 'Revoke the token dashboards')
  await untilShown(page, 'Nobody can undo it')
  await clickOn(page, 'Revoke token')
  await untilShown(page, 'The token dashboards is revoked')
  assert.equal((await new Api({ url: service.url, token }).tryRest('/v1/me')).status, 401)
})

test('no script failed but for what was refused', options, () => {
  // The browser's own lines about 403 of lists that a token may not read.
  assert.deepEqual(
    seen.faults.filter((fault) => !/status of 403/.test(fault)),
    [],
  )
})
