/**
 * Goal: what is seen has an address: a link brings it back in a fresh browser, and Back takes back
 * what was opened, in one step. The link is there where the browser keeps the page from copying.
 * Method: Chromium against a running service, acting as people do; each address is opened anew. A
 * short form of it is in `explore.test.ts`.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, type EventRecord, NDJSON_TYPE } from '../../support/api.ts'
import {
  clickOn,
  fillIn,
  load,
  NO_BROWSER,
  openBrowser,
  type Seen,
  untilShown,
} from '../../support/browser.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const EVENTS = 500
const dataDir = makeDataDir()
const options = { skip: NO_BROWSER }
let service: Service
let seen: Seen
let events: readonly EventRecord[] = []

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  const api = new Api(service)
  const { id, key } = await api.createStream({ name: 'web' })
  const lines = Array.from({ length: EVENTS }, (_, n) =>
    JSON.stringify({ level: n % 5 ? 'info' : 'error', 'odd,%name': n, message: `event ${n}.` }),
  )
  await api.ingest(key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
  await api.untilCounted(id, EVENTS)
  events = await api.events(id)
  seen = await openBrowser()
  const { page } = seen
  await page.goto(at(''))
  await fillIn(page, 'Access token', service.token)
  await clickOn(page, 'Sign in')
  await untilShown(page, `event ${EVENTS - 1}.`)
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const at = (params: string) => `${service.url}/console/#/explore/1?from=-1h${params}`
const idOf = (n: number) => events.find(({ payload }) => payload.message === `event ${n}.`)!.id
const paramsNow = async () =>
  new URLSearchParams(((await seen.page.evaluate('location.hash')) as string).split('?')[1])
const openRows = "[...document.querySelectorAll('.event-open .leaf')].length"
const stepsBack = () => seen.page.evaluate('history.length') as Promise<number>
const row = (n: number) => seen.page.locator(`.event-place ::-p-text(event ${n}.)`)

test('however many events are opened, Back closes them in one step', options, async () => {
  const { page } = seen
  await load(page, at(''))
  await untilShown(page, 'event 499.')
  const before = await stepsBack()
  await row(499).click()
  await page.waitForFunction(`${openRows} > 0`)
  await clickOn(page, 'Raw')
  await row(498).click()
  await page.waitForFunction("location.hash.includes('%2C')")
  assert.equal((await paramsNow()).get('event'), `${idOf(499)}:raw,${idOf(498)}`)
  assert.equal(await stepsBack(), before + 1)
  await page.goBack()
  await page.waitForFunction("document.querySelector('.event-open') === null")
  assert.equal((await paramsNow()).has('event'), false)
  await page.goForward()
  await untilShown(page, '"message":"event 499."')
  // Closed by hand it is as if it had not been opened: Back leads to where one came from.
  await load(page, at('&q=event'))
  await untilShown(page, 'event 499.')
  await row(499).click()
  await page.waitForSelector('.event-open')
  await page.keyboard.press('ArrowLeft')
  await page.waitForFunction("document.querySelector('.event-open') === null")
  await row(498).click()
  await page.waitForSelector('.event-open')
  await row(498).click()
  await page.waitForFunction("document.querySelector('.event-open') === null")
  await page.waitForFunction('history.state === null')
  assert.equal((await paramsNow()).has('event'), false)
})

test(
  'a link opens an event in its place; one past the list above it, with its neighbours',
  options,
  async () => {
    const { page } = seen
    await load(page, at(`&event=${idOf(350)}:around`))
    await page.waitForFunction("document.querySelector('.event-open .around .is-current') !== null")
    const top = `document.querySelector('.event-open').getBoundingClientRect().top`
    assert.ok(Number(await page.evaluate(top)) < 700, 'it is in sight')
    await load(page, at(`&event=${idOf(3)}`))
    await untilShown(page, 'The event of the link')
    await page.waitForFunction("document.querySelector('.linked .around .is-current') !== null")
    await untilShown(page, 'event 4.')
    // Of all streams, too.
    await load(page, at(`&event=${idOf(3)}`).replace('explore/1', 'explore'))
    await page.waitForFunction("document.querySelector('.linked .around .is-current') !== null")
    await load(page, at('&event=1-1'))
    await untilShown(page, 'There is no event 1-1 in this stream')
    await clickOn(page, 'Close the event of the link')
    await page.waitForFunction("!location.hash.includes('event=')")
  },
)

test('who asks for something else leaves what that does not find', options, async () => {
  const { page } = seen
  await load(page, at(`&event=${idOf(496)},${idOf(495)}`))
  await page.waitForFunction("document.querySelectorAll('.event-open').length === 2")
  await page.locator('.facet-value ::-p-text(error)').click()
  await page.waitForFunction("location.hash.includes('error') && !location.hash.includes('%2C')")
  assert.equal((await paramsNow()).get('event'), idOf(495))
  assert.equal(await page.evaluate("document.querySelector('.linked')"), null)
})

test('what is folded, grouped and open comes back', options, async () => {
  const { page } = seen
  await load(page, at(''))
  await untilShown(page, 'event 499.')
  await page.locator('.facet summary').click()
  await page.waitForFunction("location.hash.includes('folded=level')")
  await page.keyboard.press('g')
  await page.waitForSelector('.groups')
  await page.evaluate('document.activeElement.blur()')
  await page.keyboard.press('e')
  await page.waitForSelector('dialog[open]')
  const address = page.url()
  await load(page, address)
  await page.waitForSelector('dialog[open]')
  await page.waitForSelector('.groups')
  await page.waitForSelector('.facet')
  assert.equal(await page.evaluate("document.querySelector('.facet').open"), false)
  await page.keyboard.press('Escape')
  await page.waitForFunction("!location.hash.includes('dialog')")
  await load(page, `${service.url}/console/#/schema/1`)
  await page.locator('button.path ::-p-text(odd,%name)').click()
  await untilShown(page, 'In the last 24 hours')
  const field = page.url()
  await load(page, `${service.url}/console/#/usage/1`)
  await load(page, field)
  await untilShown(page, 'In the last 24 hours')
})

test(
  'a link is of this moment, or moves on; without a clipboard it is selected',
  options,
  async () => {
    const { page } = seen
    await load(page, at('&q=event'))
    await untilShown(page, 'event 499.')
    const link = 'document.querySelector(\'[aria-label="The link"]\').value'
    await clickOn(page, 'Share')
    await untilShown(page, 'Copied.')
    assert.match(String(await page.evaluate(link)), /from=20.*&q=event&to=20/)
    await page.locator('::-p-text(Last hour, when it is opened)').click()
    await page.waitForFunction(`${link}.endsWith('from=-1h&q=event')`)
    await untilShown(page, 'events:read that sees the stream web')
    await page.keyboard.press('Escape')
    await page.evaluate(`{
    Object.defineProperty(navigator, 'clipboard', { value: undefined })
    document.execCommand = () => false
  }`)
    await row(499).click()
    await page.locator('.event-open ::-p-text(share)').click()
    await untilShown(page, 'press Ctrl C')
    const field = 'document.activeElement'
    const selected = `${field}.value.slice(${field}.selectionStart, ${field}.selectionEnd)`
    assert.equal(await page.evaluate(selected), await page.evaluate(link))
    assert.ok(String(await page.evaluate(link)).includes(`event=${idOf(499)}`))
  },
)

test('no script failed but for the event that is not there', options, () => {
  assert.deepEqual(
    seen.faults.filter((fault) => !/status of 404/.test(fault)),
    [],
  )
})
