/**
 * Goal: an admin changes a rule of somebody else, which stays his; groups of large numbers are told
 * and silenced to the digit; buttons of alerts do once what is clicked twice.
 * Method: Chromium against a running service that gets events all the time.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HTTPRequest } from 'puppeteer-core'
import { eventually } from '../../store/temporary.ts'
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
} from '../../support/browser.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const BIG = '9007199254740993'
const NEAR = '9007199254740992'
const dataDir = makeDataDir()
let service: Service
/** The rule's owner. */
let ann: Api
let seen: Seen
let isOver = false
let sending: Promise<void> | undefined

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  const scopes = ['streams:read', 'streams:write', 'events:read', 'alerts:read', 'alerts:write']
  const made = await new Api(service).rest('/v1/tokens', 'POST', { owner: 'ann', scopes })
  ann = new Api({ ...service, url: service.url, token: JSON.parse(made).token })
  const stream = await ann.createStream({ name: 'numbers' })
  const body = [BIG, NEAR].map((n) => `{"n":${n}}`).join('\n')
  sending = (async () => {
    while (!isOver) {
      await ann.ingest(stream.key, body, { 'content-type': NDJSON_TYPE })
      await sleep(500)
    }
  })()
  await ann.rest('/v1/alerts/channels/ops', 'PUT', { url: 'http://127.0.0.1:9/never' })
  await ann.rest('/v1/alerts/rules/numbers', 'PUT', {
    ...{ condition: { op: '>', value: 0 }, window: '10s', group_by: ['n'], channels: ['ops'] },
  })
  seen = await openBrowser()
  await seen.page.goto(`${service.url}/console/`)
})

after(async () => {
  isOver = true
  await sending
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }
const goTo = (hash: string) => load(seen.page, `${service.url}/console/${hash}`)

interface Group {
  readonly state: string
  readonly silenced_by: readonly string[]
}

const groupsText = async () => await ann.rest('/v1/alerts/rules/numbers/groups')
const groupsNow = async () => JSON.parse(await groupsText()).groups as readonly Group[]

/** How often it was asked for while `work` ran. */
async function asked(method: string, work: () => Promise<void>): Promise<number> {
  let count = 0
  const look = (request: HTTPRequest) => {
    if (request.method() === method) count++
  }
  seen.page.on('request', look)
  await work()
  seen.page.off('request', look)
  return count
}

/** The button with this label, twice at once. */
async function clickTwice(label: string): Promise<void> {
  const selector = JSON.stringify(`button[aria-label^="${label}"]`)
  await seen.page.waitForSelector(`button[aria-label^="${label}"]`)
  await seen.page.evaluate(`{
    const button = document.querySelector(${selector})
    button.click()
    button.click()
  }`)
}

test('groups of large numbers are two, and one of them is silenced', options, async () => {
  const { page } = seen
  await signIn(page, ann.token)
  await eventually(
    'both fire',
    async () => (await groupsNow()).filter(({ state }) => state === 'firing').length === 2,
    60_000,
  )
  const { id } = JSON.parse(await ann.rest('/v1/alerts/rules/numbers'))
  await goTo(`#/alerts?rule=${id}`)
  for (const value of [BIG, NEAR]) await untilShown(page, value)
  await page.evaluate(
    `[...document.querySelectorAll('tr')].find((row) => row.innerText.includes('${BIG}'))
      .querySelector('td:last-child a').click()`,
  )
  await untilShown(page, 'New silence')
  await clickOn(page, 'Silence')
  await untilShown(page, `alertname=numbers, n=${BIG}`)
  const silenced = (await groupsNow()).map(({ silenced_by: by }) => by.length)
  assert.deepEqual(silenced.toSorted(), [0, 1])
  assert.match(await groupsText(), new RegExp(`"silenced_by":\\["\\d+"\\],"group":\\[${BIG}\\]`))
})

test('what is clicked twice is done once', options, async () => {
  const { page } = seen
  const ended = await asked('DELETE', async () => {
    await clickTwice('End the silence of')
    await untilShown(page, 'The silence is over')
    await untilShown(page, 'No silence.')
  })
  await goTo('#/alerts?tab=channels')
  const tested = await asked('POST', async () => {
    await clickTwice('Test the channel')
    await untilShown(page, 'refused')
  })
  const { id } = JSON.parse(await ann.rest('/v1/alerts/rules/numbers'))
  await goTo(`#/alerts?rule=${id}`)
  await untilShown(page, 'Messages that did not arrive')
  const sent = await asked('POST', async () => {
    await clickTwice('Send again the message')
    await untilShown(page, 'It is sent again')
  })
  assert.deepEqual({ ended, tested, sent }, { ended: 1, tested: 1, sent: 1 })
})

test("an admin changes somebody else's rule, and it stays his", options, async () => {
  const { page } = seen
  await signIn(page, service.token)
  const before = JSON.parse(await ann.rest('/v1/alerts/rules/numbers'))
  await goTo(`#/alerts?rule=${before.id}`)
  await untilShown(page, 'reads with the rights of ann')
  await clickOn(page, 'Pause')
  await untilShown(page, 'is paused')
  await clickOn(page, 'Resume')
  await untilShown(page, 'goes on')
  await page.waitForFunction("document.querySelector('.notice') === null")
  await clickOn(page, 'Edit')
  await untilShown(page, 'It stays a rule of ann')
  await untilShown(page, 'ops')
  assert.doesNotMatch(String(await page.evaluate('document.body.innerText')), /no such channel/)
  await fillIn(page, 'Threshold', '7')
  await clickOn(page, 'Save')
  await untilShown(page, 'Fires when count > 7 in 10s')
  const after = JSON.parse(await ann.rest('/v1/alerts/rules/numbers'))
  assert.deepEqual([after.id, after.owner, after.condition.value], [before.id, 'ann', 7])
  assert.equal(after.version, before.version + 3)
})

test('no script failed', options, () => {
  assert.deepEqual(seen.faults, [])
})
