/**
 * Goal: nobody needs to know a field by heart, wherever one is named, nor loses one out of sight:
 * lists open by mouse and by keys, wide and on a phone, in dialogs, over one stream and over all.
 * Method: Chromium against a running service; axe-core on what is open.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import type { AxeResults } from 'axe-core'
import { eventually } from '../../store/temporary.ts'
import { Api, NDJSON_TYPE } from '../../support/api.ts'
import {
  clickOn,
  load,
  NO_BROWSER,
  openBrowser,
  type Seen,
  signIn,
  untilShown,
} from '../../support/browser.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const WIDE = 1_200
const options = { skip: NO_BROWSER }
const dataDir = makeDataDir()
let service: Service
let seen: Seen

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  const api = new Api(service)
  const headers = { 'content-type': NDJSON_TYPE }
  const { key } = await api.createStream({ name: 'web' })
  const events = Array.from({ length: 40 }, (_, n) => {
    const http = { status: n % 10 ? 200 : 'broken', request: { id: `r${n}` } }
    return JSON.stringify({ level: 'info', message: `m ${n}`, http, items: [{ price: n }] })
  })
  await api.ingest(key, events.join('\n'), headers)
  await api.untilCounted('1', 40)
  const caps = { field_soft_cap: 5_000, field_hard_cap: 5_000 }
  const wide = await api.createStream({ name: 'wide', ...caps })
  const parts = Array.from({ length: WIDE / 100 }, (_, part) => {
    const keys = Array.from({ length: 100 }, (_, n) => String(100 * part + n).padStart(4, '0'))
    return JSON.stringify(Object.fromEntries(keys.map((key) => [`key${key}`, part])))
  })
  await api.ingest(wide.key, parts.join('\n'), headers)
  await eventually('all fields are learned', async () => {
    const { schema } = JSON.parse(await api.rest('/v1/streams/2/usage'))
    return schema.fields.count === WIDE
  })
  seen = await openBrowser()
  await seen.page.goto(`${service.url}/console/`)
  await signIn(seen.page, service.token)
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

async function open(hash: string, shows: string): Promise<void> {
  await load(seen.page, `${service.url}/console/${hash}`)
  await untilShown(seen.page, shows)
}

const hash = async () => String(await seen.page.evaluate('decodeURIComponent(location.hash)'))
const proposed =
  "[...document.querySelectorAll('.field-options [role=option] bdi')].map((one) => one.innerText)"

/** Types into the input of that name, until these are proposed. */
async function typed(name: string, text: string, expected: readonly string[]): Promise<void> {
  const { page } = seen
  await page.locator(`::-p-aria([name="${name}"][role="combobox"])`).click()
  await page.keyboard.type(text)
  const wanted = JSON.stringify(JSON.stringify(expected))
  await page.waitForFunction(`JSON.stringify(${proposed}) === ${wanted}`)
}

async function violations(): Promise<string[]> {
  // What is old is pale until the answer is there.
  await seen.page.waitForFunction("document.querySelector('.is-stale') === null")
  await seen.page.evaluate(readFileSync(AXE, 'utf8'))
  const results = (await seen.page.evaluate('axe.run(document)')) as AxeResults
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}

test('a column: what was picked is one at once', options, async () => {
  await open('#/explore/1?from=-1h', 'behind')
  await typed('Another column', 'STAT', ['http.status'])
  assert.deepEqual(await violations(), [])
  await seen.page.locator('.field-options [role=option]').click()
  await seen.page.waitForFunction("location.hash.includes('cols=http.status')")
  await untilShown(seen.page, 'broken')
})

test('facets and groups take what can be counted, figures what is a number', options, async () => {
  await open('#/explore?from=-1h&fn=avg', 'behind')
  await typed('Count the values of another field', 'price', [])
  await seen.page.keyboard.press('Escape')
  await open('#/explore?from=-1h&by=_level&fn=avg', 'behind')
  await typed('of', 'stat', ['http.status'])
  await seen.page.keyboard.press('ArrowUp')
  await seen.page.keyboard.press('Enter')
  await seen.page.keyboard.press('Enter')
  await seen.page.waitForFunction("location.hash.includes('of=http.status')")
  await untilShown(seen.page, 'avg of http.status')
})

test('over all streams, in the query as well', options, async () => {
  await open('#/explore?from=-1h', 'behind')
  await seen.page.locator('#query').click()
  await seen.page.keyboard.type('y0007')
  const option = "document.querySelector('.proposals [role=option]')?.innerText"
  await seen.page.waitForFunction(`/^key0007:\\s+integer · 1\\.9 %$/.test(${option})`)
  await open('#/explore?from=-1h&by=htpp.status', 'No event of these streams has htpp.status')
  await clickOn(seen.page, 'http.status')
  await untilShown(seen.page, 'broken')
})

test('in dialogs: settings, and an export of what was named', options, async () => {
  await open('#/streams/1', 'API keys')
  await clickOn(seen.page, 'Settings')
  await typed('More paths to redact', 'REQ', ['http.request', 'http.request.id'])
  assert.deepEqual(await violations(), [])
  await seen.page.keyboard.press('Escape')
  assert.deepEqual(
    await seen.page.evaluate(`[${proposed}.length, !!document.querySelector('dialog')]`),
    [0, true],
  )
  await open('#/explore/1?from=-1h', 'behind')
  await clickOn(seen.page, 'Export')
  await seen.page.locator('::-p-text(These fields)').click()
  await typed('Fields to export', 'http.st', ['http.status'])
  await seen.page.keyboard.press('ArrowDown')
  await seen.page.keyboard.press('Enter')
  await seen.page.keyboard.type(',')
  await typed('Fields to export', 'messag', ['message'])
  await seen.page.keyboard.press('ArrowDown')
  await seen.page.keyboard.press('Enter')
  const value = `document.querySelector('[aria-label="Fields to export"]').value`
  assert.equal(await seen.page.evaluate(value), 'http.status,message')
})

test('no field of the schema is out of reach; one is found by a part of it', options, async () => {
  const rows = "document.querySelectorAll('tbody tr').length"
  await open('#/schema/2', 'the first 500 fields; more follow')
  for (const count of [1_000, WIDE]) {
    await clickOn(seen.page, 'Show 500 more')
    await seen.page.waitForFunction(`${rows} === ${count}`)
  }
  await untilShown(seen.page, '1,200 fields')
  await open('#/schema/2?contains=Y119', '10 fields')
  await open('#/schema/2?contains=kye0001', 'Perhaps:')
  await clickOn(seen.page, 'key0001')
  await untilShown(seen.page, 'events have it')
})

test('conflicts lead to their field, which is resolved on a phone as well', options, async () => {
  const { page } = seen
  await page.setViewport({ width: 390, height: 844 })
  await open('#/streams', '1 type conflict')
  await clickOn(page, '▲ 1 type conflict')
  await untilShown(page, 'http.status')
  for (const screen of ['usage', 'streams']) {
    await open(`#/${screen}/1`, 'type conflicts:')
    await clickOn(page, 'http.status')
    await untilShown(page, 'Resolve…')
    assert.match(await hash(), /^#\/schema\/1\?field=http\.status$/)
  }
  await clickOn(page, 'Resolve…')
  await untilShown(page, 'What stays')
  assert.deepEqual(await violations(), [])
  const isWide = 'document.documentElement.scrollWidth > innerWidth'
  assert.equal(await page.evaluate(isWide), false)
})

test('no script failed and the security policy was never violated', options, () => {
  assert.deepEqual(seen.faults, [])
})
