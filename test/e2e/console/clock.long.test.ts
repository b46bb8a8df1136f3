/**
 * Goal: people look by the time when it happened. What is listed, counted and shown in the Time
 * column is by one clock, which is always in sight; where the two clocks tell different stories, it
 * is said. A live list outlives an outage by itself.
 * Method: Chromium against a running service, with events that came late, early, and at once.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
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

const dataDir = makeDataDir()
const HOUR_MS = 3_600_000
const startMs = Date.now()
/** A day ago, at a whole minute. */
const THEN_MS = Math.floor((startMs - 24 * HOUR_MS) / 60_000) * 60_000
let service: Service
let seen: Seen
let api: Api
let key = ''

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  api = new Api(service)
  key = (await api.createStream({ name: 'shop' })).key
  const at = (ms: number) => new Date(ms).toISOString()
  const events = [
    ...many(30, (n) => ({ timestamp: at(THEN_MS + n * 1_000), message: `backfilled ${n}` })),
    ...many(60, (n) => ({ timestamp: at(startMs - HOUR_MS / 2 - n), message: `late ${n}` })),
    ...many(40, (n) => ({ message: `at once ${n}` })),
    ...many(2, (n) => ({ timestamp: at(startMs + HOUR_MS / 2 + n), message: `early ${n}` })),
  ]
  await send(events)
  await api.untilCounted('1', 132)
  seen = await openBrowser()
  await seen.page.goto(`${service.url}/console/`)
  await signIn(seen.page, service.token)
  await seen.page.evaluate("localStorage.setItem('sluice.zone', 'utc')")
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }

function many(count: number, make: (n: number) => object): object[] {
  return Array.from({ length: count }, (_, n) => make(n))
}

async function send(events: readonly object[]): Promise<void> {
  const body = `${events.map((event) => JSON.stringify(event)).join('\n')}\n`
  const answer = await api.ingest(key, body, { 'content-type': NDJSON_TYPE })
  assert.equal(answer.status, 200, answer.text)
}

const open = (hash: string) => load(seen.page, `${service.url}/console/${hash}`)

const pressed = () =>
  seen.page.evaluate("document.querySelector('.clock [aria-pressed=true]').innerText")
const header = () =>
  seen.page.evaluate("document.querySelector('.is-header .cell').innerText") as Promise<string>

test('the last hour is what happened in it; who came late is told', options, async () => {
  await open('#/explore/1')
  await untilShown(seen.page, '100 events')
  await untilShown(seen.page, 'at least 60 of 100 came more than 5 minutes after they happened')
  assert.equal(await pressed(), 'Event time')
  assert.equal(await header(), 'Event time (UTC)')
  const times = (await seen.page.evaluate(
    "[...document.querySelectorAll('.event-place .time')].map((one) => one.innerText)",
  )) as string[]
  const late = times.filter((text) => Date.parse(`${text.replace(' ', 'T')}Z`) < startMs - 60_000)
  assert.ok(late.length > 0 || times.length < 60, 'the column shows when it happened')
  assert.deepEqual(times, times.toSorted().reverse(), 'the list is in the order of that clock')
})

test('the switch turns counts, list and column to receipt, and back', options, async () => {
  const { page } = seen
  await clickOn(page, 'Receipt')
  await untilShown(page, '132 events')
  await untilShown(page, 'at least 90 of 132 came more than 5 minutes after they happened')
  await untilShown(page, 'at least 2 of 132 bear a time more than 5 minutes after they came')
  assert.equal(await pressed(), 'Receipt')
  assert.equal(await header(), 'Receipt (UTC)')
  assert.match(page.url(), /basis=ingested_at/)
  const times = (await page.evaluate(
    "[...document.querySelectorAll('.event-place .time')].map((one) => one.innerText)",
  )) as string[]
  assert.ok(times.length > 10)
  for (const text of times) {
    assert.ok(Date.parse(`${text.replace(' ', 'T')}Z`) > startMs - 60_000, text)
  }
  await clickOn(page, 'Event time')
  await untilShown(page, '100 events')
  // As an address of before the switch has it.
  await open('#/explore/1?basis=event_time')
  await untilShown(page, '100 events')
})

test('where nothing happened but something came, the other clock is offered', options, async () => {
  const { page } = seen
  await open('#/explore/1?q=backfilled')
  await untilShown(page, 'No event matches in this range')
  await open('#/explore/1?q=backfilled&basis=ingested_at')
  await untilShown(page, '30 events')
  const from = new Date(THEN_MS).toISOString()
  const to = new Date(THEN_MS + 60_000).toISOString()
  await open(`#/explore/1?from=${from}&to=${to}&basis=ingested_at`)
  await untilShown(page, '30 events happened in it, but came at other times.')
  await clickOn(page, 'Show by event time')
  await untilShown(page, '30 events')
})

test('the zone is beside the clock, and changes with a click', options, async () => {
  const { page } = seen
  const zone = () => page.evaluate("document.querySelector('#zone').innerText")
  assert.equal(await zone(), 'UTC')
  const local = await page.evaluate('new Intl.DateTimeFormat().resolvedOptions().timeZone')
  await page.locator('#zone').click()
  assert.equal(await zone(), local)
  await page.locator('#zone').click()
})

test(
  'a live list that was refreshed in an outage goes on by itself, without a gap',
  options,
  async () => {
    const { page } = seen
    await open('#/explore/1?q=outage&live=1')
    await untilShown(page, 'Live')
    await send([{ message: 'outage 1' }])
    await untilShown(page, 'outage 1')
    await page.setOfflineMode(true)
    await clickOn(page, 'Refresh')
    await untilShown(page, 'The service does not answer')
    await send([{ message: 'outage 2' }])
    await page.setOfflineMode(false)
    await untilShown(page, 'outage 2')
    await send([{ message: 'outage 3' }])
    await untilShown(page, 'outage 3')
    const lines = await page.evaluate(
      "[...document.querySelectorAll('.event-place .line')].map((one) => one.innerText).join()",
    )
    assert.equal(lines, 'outage 3,outage 2,outage 1')
    await page.waitForFunction("document.querySelector('[role=alert]') === null")
    // What the browser itself says of the outage.
    const faults = seen.faults as string[]
    const expected = faults.filter((fault) => /ERR_INTERNET_DISCONNECTED/.test(fault))
    for (const fault of expected) faults.splice(faults.indexOf(fault), 1)
  },
)

test('no script failed and the security policy was never violated', options, () => {
  assert.deepEqual(seen.faults, [])
})
