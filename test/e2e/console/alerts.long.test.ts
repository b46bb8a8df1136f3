/**
 * Goal: a person makes a rule of a search in two clicks, having seen what it would have done; sees
 * that it fires, why, and what was not told; changes, pauses and deletes it; nobody is offered what
 * his token may not do.
 * Method: Chromium against a running service that gets events all the time, rules of 10 s. A short
 * form of it is in `streams.test.ts`.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../store/temporary.ts'
import { Api, NDJSON_TYPE, type Stream } from '../../support/api.ts'
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

const dataDir = makeDataDir()
let service: Service
let api: Api
let seen: Seen
let web: Stream
let isOver = false
let sending: Promise<void> | undefined

/** Two services of which one fails, until the test is over. */
async function sendOn(): Promise<void> {
  for (let n = 0; !isOver; n++) {
    const events = [
      { level: 'error', service: 'cart', code: n % 2 === 0 ? 200 : '200', took_ms: n },
      { level: 'error', service: '<b>"cart"', took_ms: n },
      { level: 'info', service: 'search', took_ms: 1 },
    ]
    const body = events.map((event) => JSON.stringify(event)).join('\n')
    await api.ingest(web.key, body, { 'content-type': NDJSON_TYPE })
    await sleep(500)
  }
}

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  api = new Api(service)
  web = await api.createStream({ name: 'web' })
  sending = sendOn()
  const channel = { url: 'http://127.0.0.1:9/never' }
  await api.rest('/v1/alerts/channels/ops', 'PUT', channel)
  seen = await openBrowser()
  await seen.page.goto(`${service.url}/console/`)
  await signIn(seen.page, service.token)
})

after(async () => {
  isOver = true
  await sending
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }

const get = async <T>(path: string) => JSON.parse(await api.rest(path)) as T
const goTo = (hash: string) => load(seen.page, `${service.url}/console/${hash}`)
const shown = async () => String(await seen.page.evaluate('document.body.innerText'))

interface Rule {
  readonly id: string
  readonly streams: unknown
  readonly query: string
  readonly group_by: readonly string[]
  readonly condition: { readonly op: string; readonly value: number }
  readonly paused: boolean
  readonly severity: string
  readonly channels: readonly string[]
  readonly version: number
  readonly labels: object
}

test(
  'a rule of what is searched for takes two clicks, and tells before what it would have done',
  options,
  async () => {
    const { page } = seen
    await eventually('events are counted', async () => {
      const body = { query: 'level:error' }
      const answer = await api.rest(`/v1/streams/${web.id}/query`, 'POST', body)
      return (JSON.parse(answer) as { readonly total: number }).total > 20
    })
    await goTo(`#/explore/${web.id}?q=level:error&by=service`)
    await untilShown(page, 'behind')
    await clickOn(page, 'Alert…')
    await untilShown(page, 'What it would have done')
    await untilShown(page, 'in the last 7d: 2,016 windows', 60_000)
    await clickOn(page, 'Create rule')
    await untilShown(page, 'is saved')
    await untilShown(page, 'Fires when count > 0 in 5m')
    const rule = await get<Rule>('/v1/alerts/rules/web-level-error')
    assert.deepEqual(rule.streams, [web.id])
    assert.deepEqual([rule.query, rule.group_by], ['level:error', ['service']])
    assert.ok(page.url().endsWith(`#/alerts?rule=${rule.id}`), page.url())
    // Back leads to the search.
    await page.goBack()
    await untilShown(page, 'behind')
  },
)

test('what is typed is tried anew, and a name that is taken is told', options, async () => {
  const { page } = seen
  await goTo(`#/alerts/${web.id}?edit=new&q=level:(`)
  await untilShown(page, 'The query:')
  await fillIn(page, 'Query', 'level:error')
  await fillIn(page, 'Window', '10s')
  await untilShown(page, 'Would have fired', 60_000)
  await fillIn(page, 'Threshold', '100000')
  await untilShown(page, 'Would not have fired', 60_000)
  await fillIn(page, 'Window', '7m')
  await untilShown(page, '"every" must divide the day', 60_000)
  await fillIn(page, 'Window', '10s')
  await untilShown(page, 'Would not have fired', 60_000)
  await page.locator('::-p-text(99 % of windows)').click()
  await fillIn(page, 'Threshold', '3')
  await fillIn(page, 'Each group by itself', 'service, code')
  await untilShown(page, 'Look further back')
  await fillIn(page, 'Name', 'web-level-error')
  await clickOn(page, 'ops')
  await clickOn(page, 'Create rule')
  await untilShown(page, 'There is a rule of this name')
  await fillIn(page, 'Name', 'firing')
  await clickOn(page, 'Create rule')
  await untilShown(page, 'Fires when count > 3 in 10s')
  const rule = await get<Rule>('/v1/alerts/rules/firing')
  assert.deepEqual(rule.channels, ['ops'])
  assert.deepEqual(rule.condition, { op: '>', value: 3 })
})

test('it fires, and why is just the events of the group and the window', options, async () => {
  const { page } = seen
  const firing = async () => {
    const path = '/v1/alerts/rules/firing/groups'
    const { groups } = await get<{ groups: readonly { state: string }[] }>(path)
    return groups.filter(({ state }) => state === 'firing').length
  }
  await eventually('all of them fire', async () => (await firing()) === 3, 60_000)
  await goTo('#/alerts')
  await untilShown(page, '2 rules')
  await untilShown(page, 'firing 3')
  await page.locator('::-p-aria([name="firing"][role="link"])').click()
  await untilShown(page, 'History')
  await untilShown(page, '<b>"cart"')
  const list = new URL(page.url()).hash
  const { transitions } = await get<{
    transitions: readonly {
      kind: string
      group: readonly unknown[]
      window: { from: string; to: string }
      event_count: number
    }[]
  }>('/v1/alerts/rules/firing/transitions')
  // Of 200 and "200" each has its own events.
  for (const group of [
    ['cart', 200],
    ['cart', '200'],
    ['<b>"cart"', null],
  ]) {
    const fired = transitions.find((one) => {
      return one.kind === 'firing' && JSON.stringify(one.group) === JSON.stringify(group)
    })
    assert.ok(fired, JSON.stringify(group))
    const links = (await page.evaluate(
      `[...document.querySelectorAll('td a')].map(({ hash }) => hash)`,
    )) as string[]
    const link = links.find((hash) => {
      const params = new URLSearchParams(hash.split('?')[1])
      const isRange =
        params.get('from') === fired.window.from && params.get('to') === fired.window.to
      const query = params.get('q') ?? ''
      const isCode =
        group[1] === '200'
          ? query.includes('"200"')
          : group[1] === 200
            ? query.includes('[200 TO 200]')
            : query.includes('NOT code:*')
      return isRange && isCode
    })
    assert.ok(link, `${JSON.stringify(group)} of ${links.join('\n')}`)
    const params = new URLSearchParams(link.split('?')[1])
    assert.equal(params.get('basis'), 'ingested_at')
    const asked = { query: params.get('q'), from: params.get('from'), to: params.get('to') }
    const answer = await api.rest(`/v1/streams/${web.id}/query`, 'POST', asked)
    assert.equal((JSON.parse(answer) as { total: number }).total, fired.event_count)
    await goTo(link)
    await untilShown(page, `${fired.event_count} events`)
    await goTo(list)
    await untilShown(page, 'History')
  }
})

test('what did not arrive is told and sent again', options, async () => {
  const { page } = seen
  await goTo('#/alerts?tab=messages')
  await untilShown(page, 'not one of the internet')
  const dead = async () => {
    return (await get<{ messages: readonly { id: string }[] }>('/v1/alerts/messages')).messages
  }
  const [first] = await dead()
  await clickOn(page, `Send again the message ${first!.id}`)
  await untilShown(page, 'It is sent again')
  await goTo('#/alerts?tab=channels')
  await clickOn(page, 'New channel')
  await fillIn(page, 'Name', 'on-call')
  await fillIn(page, 'URL', 'https://hooks.example.com/secret-path')
  await fillIn(page, 'Secret', 'sixteen characters')
  await clickOn(page, 'Save channel')
  await untilShown(page, 'hooks.example.com')
  assert.doesNotMatch(await shown(), /secret-path|sixteen/)
  await clickOn(page, 'Delete the channel \u2068on-call\u2069')
  await clickOn(page, 'Delete channel')
  await untilShown(page, 'is deleted')
})

test('a group is acknowledged, then silenced by its labels, and told again', options, async () => {
  const { page } = seen
  const { id } = await get<Rule>('/v1/alerts/rules/firing')
  await goTo(`#/alerts?rule=${id}`)
  await clickOn(page, 'Acknowledge cart · 200')
  await untilShown(page, 'acknowledged')
  await clickOn(page, 'Take back the acknowledgement of cart · 200')
  await untilShown(page, 'It is told again')
  await page.evaluate(
    `[...document.querySelectorAll('tr')].find((row) => row.innerText.includes('cart · 200'))
      .querySelector('td:last-child a').click()`,
  )
  await untilShown(page, 'New silence')
  await clickOn(page, '4h')
  await fillIn(page, 'Why', 'known since noon')
  await clickOn(page, 'Silence')
  await untilShown(page, 'alertname=firing, service=cart, code=200')
  await untilShown(page, 'known since noon')
  const { silences } = await get<{
    readonly silences: readonly { readonly to: string; readonly matchers: readonly unknown[] }[]
  }>('/v1/alerts/silences')
  assert.equal(silences[0]!.matchers.length, 3)
  const hours = (Date.parse(silences[0]!.to) - Date.now()) / 3_600_000
  assert.ok(hours > 3.9 && hours <= 4, String(hours))
  await goTo(`#/alerts?rule=${id}`)
  await untilShown(page, 'silenced')
  await goTo('#/alerts?tab=silences')
  await page.locator('td button').click()
  await untilShown(page, 'The silence is over')
  await untilShown(page, 'No silence.')
  await goTo('#/alerts?tab=silences&dialog=silence')
  await fillIn(page, 'Alerts with all of these labels', 'service cart')
  await clickOn(page, 'Silence')
  await untilShown(page, 'is not like')
  await page.keyboard.press('Escape')
})

/** What is typed for a channel of each kind. */
const TYPED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  slack: { URL: 'https://hooks.slack.example/x' },
  teams: { URL: 'https://teams.example/x' },
  discord: { URL: 'https://discord.example/x' },
  mattermost: { URL: 'https://mattermost.example/x' },
  google_chat: { URL: 'https://chat.example/x' },
  email: { To: 'a@example.com, b@example.com', From: 's@example.com', 'Mail server': 'm.example' },
  pagerduty: { 'Routing key': 'abcdef' },
  alertmanager: { URL: 'https://alertmanager.example' },
  ntfy: { URL: 'https://ntfy.example/topic' },
  template: { URL: 'https://any.example/x', Template: '{"text":"{{title}}"}' },
  heartbeat: { URL: 'https://heartbeat.example/x' },
}

test(
  'a channel of each kind is made, shows what it would send, and is tested',
  options,
  async () => {
    const { page } = seen
    for (const [kind, typed] of Object.entries(TYPED)) {
      await goTo('#/alerts?tab=channels&dialog=channel')
      await untilShown(page, 'New channel')
      await page.select('dialog select', kind)
      await fillIn(page, 'Name', `of-${kind}`)
      for (const [label, text] of Object.entries(typed)) await fillIn(page, label, text)
      if (kind !== 'heartbeat') {
        await clickOn(page, 'Show what it would send')
        await page.waitForSelector('dialog pre')
      }
      await clickOn(page, 'Save channel')
      await page.waitForSelector('dialog', { hidden: true })
    }
    const made = await get<{ channels: readonly { kind: string }[] }>('/v1/alerts/channels')
    const kinds = made.channels.map(({ kind }) => kind).sort()
    assert.deepEqual(kinds, [...Object.keys(TYPED), 'webhook'].sort(), 'all that the API knows')
    await goTo('#/alerts?tab=channels')
    await clickOn(page, 'Test the channel \u2068ops\u2069')
    await untilShown(page, 'refused')
  },
)

test(
  'paused, changed unless somebody else was faster, deleted when it is said twice',
  options,
  async () => {
    const { page } = seen
    const { id } = await get<Rule>('/v1/alerts/rules/firing')
    const labels = { team: 'shop' }
    const { version: _, ...settings } = await get<Rule>('/v1/alerts/rules/firing')
    await goTo(`#/alerts?rule=${id}`)
    await clickOn(page, 'Pause')
    await untilShown(page, 'is paused')
    assert.equal((await get<Rule>('/v1/alerts/rules/firing')).paused, true)
    await clickOn(page, 'Resume')
    await untilShown(page, 'goes on')
    // What is told lies over the lower edge for some seconds.
    await page.waitForFunction("document.querySelector('.notice') === null")
    await clickOn(page, 'Edit')
    await untilShown(page, 'Edit firing')
    const other = { query: settings.query, condition: settings.condition, window: '10s', labels }
    await api.rest('/v1/alerts/rules/firing', 'PUT', other)
    await fillIn(page, 'Threshold', '5')
    await clickOn(page, 'Save')
    await untilShown(page, 'another version by now')
    await clickOn(page, 'Read it again, without my changes')
    await untilShown(page, 'Edit firing')
    await fillIn(page, 'Threshold', '6')
    await clickOn(page, 'Save')
    await untilShown(page, 'Fires when count > 6 in 10s')
    const saved = await get<Rule>('/v1/alerts/rules/firing')
    assert.deepEqual([saved.condition.value, saved.labels], [6, labels])
    await clickOn(page, 'Delete')
    await clickOn(page, 'Delete rule')
    await untilShown(page, '1 rule')
    assert.equal((await api.tryRest('/v1/alerts/rules/firing')).status, 404)
  },
)

test('who only reads is offered nothing that changes', options, async () => {
  const { page } = seen
  const scopes = ['streams:read', 'events:read', 'alerts:read']
  const made = await api.rest('/v1/tokens', 'POST', { name: 'reader', scopes })
  await signIn(page, (JSON.parse(made) as { readonly token: string }).token)
  const { id } = await get<Rule>('/v1/alerts/rules/web-level-error')
  for (const [hash, shows] of [
    ['#/alerts', 'web-level-error'],
    [`#/alerts?rule=${id}`, 'History'],
    ['#/alerts?tab=channels', 'ops'],
    ['#/alerts?tab=messages', 'Given up'],
    [`#/explore/${web.id}`, 'behind'],
  ] as const) {
    await goTo(hash)
    await untilShown(page, shows)
    const texts = (await page.evaluate(
      `[...document.querySelectorAll('main button')].map((one) => one.innerText.trim())`,
    )) as string[]
    const changing = /^(?:New|Edit|Pause|Resume|Delete|Replace|Test|Send|Acknowledge|End|▲ Alert)/
    assert.deepEqual(
      texts.filter((text) => changing.test(text)),
      [],
      hash,
    )
  }
  await goTo('#/alerts?edit=new')
  await untilShown(page, 'This token cannot make rules of alerts')
  await signIn(page, service.token)
})

test('a share of what a query finds is a rule, and tried as one', options, async () => {
  const { page } = seen
  await goTo(`#/alerts/${web.id}?edit=new`)
  await untilShown(page, 'What it would have done')
  await page.locator('summary').click()
  await fillIn(page, 'Name', 'share')
  await fillIn(page, 'Window', '10s')
  await fillIn(page, 'The figure is only of', 'level:error')
  await page.select('::-p-aria([name="The figure is compared"])', 'share')
  await fillIn(page, 'Threshold', '0.5')
  await untilShown(page, 'Would have fired', 60_000)
  await untilShown(page, 'count where level:error / count')
  await clickOn(page, 'Create rule')
  await untilShown(page, 'count where level:error / count > 0.5 in 10s')
  const rule = await get<{ readonly relative_to: object; readonly aggregate: object }>(
    '/v1/alerts/rules/share',
  )
  assert.deepEqual(rule.relative_to, { fn: 'count' })
  assert.deepEqual(rule.aggregate, { fn: 'count', query: 'level:error' })
})

test('no script failed', options, () => {
  const refused = seen.faults.filter((fault) => !/status of 4(?:00|12)/.test(fault))
  assert.deepEqual(refused, [])
})
