/**
 * Goal: from a fresh service to the first event without a manual, and from "errors went up" to the
 * one event that explains it, by mouse alone and by keyboard alone. Whatever events hold is text.
 * Method: Chromium against a running service; errors of scripts and of the security policy fail.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, NDJSON_TYPE } from '../../support/api.ts'
import {
  clickOn,
  fillIn,
  NO_BROWSER,
  openBrowser,
  type Seen,
  untilShown,
} from '../../support/browser.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const dataDir = makeDataDir()
let service: Service
let seen: Seen
let api: Api

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  seen = await openBrowser()
  api = new Api(service)
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }
const BIG = '12345678901234567890'
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

/** An hour of requests, in which payments fail at the end, and what no console may obey. */
function eventsOf(count: number): string {
  const lines: string[] = []
  for (let n = 0; n < count; n++) {
    const isBad = n > count * 0.9 && n % 3 === 0
    lines.push(
      JSON.stringify({
        level: isBad ? 'error' : 'info',
        service: isBad ? 'payments' : ['cart', 'search', 'auth'][n % 3],
        status: isBad ? 502 : 200,
        trace_id: `trace-${n}`,
        message: isBad ? 'card refused: upstream timed out' : `request ${n} was served`,
      }),
    )
  }
  lines.push(`{"level":"warn","big":${BIG},"message":${JSON.stringify(HOSTILE)}}`)
  lines.push(JSON.stringify({ level: 'debug', long: 'x'.repeat(1_000_000), message: 'long' }))
  lines.push(JSON.stringify({ message: 'wide', wide: Object.fromEntries(keys(10_000)) }))
  return `${lines.join('\n')}\n`
}

function keys(count: number): [string, number][] {
  return Array.from({ length: count }, (_, n) => [`k${n}`, n])
}

const rowCount = () => seen.page.evaluate("document.querySelectorAll('.event-row').length")
const hash = () => seen.page.evaluate('decodeURIComponent(location.hash)') as Promise<string>

/** Opens the one event that a query finds, whose line is `line`. */
async function openOnly(query: string, line: string): Promise<void> {
  const { page } = seen
  await page.goto(`${service.url}/console/#/explore/1?from=-1h&q=${query}`)
  const rows = "[...document.querySelectorAll('.event-place .line')].map((row) => row.innerText)"
  await page.waitForFunction(`${rows}.join('|') === ${JSON.stringify(line)}`)
  await page.locator('.event-place .event-row').click()
}

test(
  'the first start: a stream, a key, and the first event appears by itself',
  options,
  async () => {
    const { page } = seen
    await page.goto(`${service.url}/console/`)
    await fillIn(page, 'Access token', service.token)
    await clickOn(page, 'Sign in')
    await untilShown(page, 'Welcome to Sluice')
    await fillIn(page, 'Name', 'shop')
    await clickOn(page, 'Create it, with a key')
    await untilShown(page, 'Waiting for the first event')
    await clickOn(page, 'Send a test event')
    await untilShown(page, 'A test event from the console')
    assert.match(await hash(), /^#\/explore\/1/)
  },
)

test('histogram, facets and the list show what is there', options, async () => {
  const { page } = seen
  const { key } = await api.createKey('1')
  const headers = { 'content-type': NDJSON_TYPE }
  const answer = await api.ingest(key, eventsOf(3_000), headers)
  assert.equal(answer.status, 200, answer.text)
  await api.untilCounted('1', 3_004)
  await clickOn(page, 'Refresh')
  await untilShown(page, 'wide')
  await page.waitForFunction("document.querySelectorAll('.bar.is-error').length > 0")
  await untilShown(page, 'payments')
  await untilShown(page, 'complete')
  assert.ok(Number(await rowCount()) > 10)
})

test(
  'by mouse alone: to the errors, their service, one event and its fields',
  options,
  async () => {
    const { page } = seen
    await page.locator('.facet-value ::-p-text(error)').click()
    await page.waitForFunction("decodeURIComponent(location.hash).includes('_level:error')")
    // What is counted anew may move.
    await page.waitForFunction("document.querySelectorAll('.facet li').length === 2")
    await page.locator('.facet-value ::-p-text(payments)').click()
    await page.waitForFunction("decodeURIComponent(location.hash).includes('_service:payments')")
    await page.waitForFunction(
      "document.querySelectorAll('.event-row .level.is-info').length === 0",
    )
    await page.locator('.event-place .event-row').click()
    await untilShown(page, 'trace_id')
    await page.locator('.tree .leaf').hover()
    await page.locator('.tree li:hover ::-p-text(+ include)').click()
    assert.match(await hash(), /q=_level:error\+_service:payments\+level="error"/)
    await clickOn(page, 'Around it')
    await untilShown(page, 'was served')
    await clickOn(page, 'Raw')
    await untilShown(page, '"status":502')
  },
)

test('by keyboard alone: a query with proposals, the rows, an event', options, async () => {
  const { page } = seen
  await page.goto(`${service.url}/console/#/explore/1?from=-1h`)
  await page.waitForFunction("document.querySelectorAll('.event-row').length > 10")
  await page.keyboard.press('/')
  await page.keyboard.type('serv')
  await page.waitForSelector('.proposals [role=option]')
  await page.keyboard.press('Tab')
  await untilShown(page, 'payments')
  await page.keyboard.type('pay')
  await page.waitForFunction("document.querySelectorAll('.proposals [role=option]').length === 1")
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await page.waitForFunction("location.hash.includes('payments')")
  await page.waitForFunction("document.querySelectorAll('.event-row .level.is-info').length === 0")
  await untilShown(page, 'card refused')
  await page.evaluate('document.activeElement.blur()')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await untilShown(page, 'trace_id')
  await page.keyboard.press('x')
  await page.waitForFunction("decodeURIComponent(location.hash).includes('NOT+_level:error')")
  await untilShown(page, 'No event matches')
  const bars = `document.querySelector('.histogram .bars').getAttribute('aria-valuetext')`
  await page.waitForFunction(`${bars} === 'no events'`)
  await page.keyboard.press('?')
  await untilShown(page, 'Keys and queries')
  await page.keyboard.press('Escape')
  await page.keyboard.down('Control')
  await page.keyboard.press('k')
  await page.keyboard.up('Control')
  const focused = "document.activeElement?.getAttribute('aria-label')"
  await page.waitForFunction(`${focused} === 'What to do'`)
  await page.keyboard.type('usage')
  await page.keyboard.press('Enter')
  await untilShown(page, 'Usage of shop')
})

test(
  'the list: what is found is marked, columns are kept, the next error is far',
  options,
  async () => {
    const { page } = seen
    const text = (selector: string) =>
      page.evaluate(
        `[...document.querySelectorAll('${selector}')].map((one) => one.innerText).join()`,
      )
    await page.goto(`${service.url}/console/#/explore/1?from=-1h&order=oldest&cols=status`)
    await page.waitForFunction("document.querySelector('.is-header')?.innerText.includes('status')")
    await untilShown(page, 'request 3 was served')
    assert.match(String(await text('.is-header .name')), /,Service,status,Event$/)
    // A click on an edge is no drag.
    await page.locator('.is-header .col .grip').click()
    assert.doesNotMatch(await hash(), /widths=/)
    await page.keyboard.press('n')
    const focused =
      "document.activeElement.matches('.event-row') && document.activeElement.innerText"
    await page.waitForFunction(`/error[^]*payments[^]*502[^]*card refused/.test(${focused})`)
    await untilShown(page, 'the events in between are not loaded')
    await page.locator('.is-header .col:nth-child(4) .name').click()
    await page.keyboard.press('Escape')
    await page.keyboard.down('Shift')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.up('Shift')
    await page.waitForFunction("location.hash.includes('line=0')")
    await page.keyboard.press('Delete')
    await page.waitForFunction("!location.hash.includes('cols=')")
    const top = () => page.evaluate("document.querySelector('.events').getBoundingClientRect().top")
    const before = await top()
    await page.type('#query', 'status:(500')
    await untilShown(page, 'column 8')
    await page.evaluate("document.querySelector('#query').value = ''")
    await page.type('#query', `x${' "timed out"'.repeat(30)}`)
    assert.equal(await top(), before, 'typing moves nothing')
    const size = 'document.documentElement.scrollHeight - innerHeight'
    assert.equal(await page.evaluate(size), 0, 'the page does not scroll')
    await page.goto(`${service.url}/console/#/explore/1?from=-1h&q=Refused`)
    await page.waitForFunction("document.querySelector('.line mark')?.innerText === 'refused'")
  },
)

test('a mistake in a query is shown at its column, as it is typed', options, async () => {
  const { page } = seen
  await page.goto(`${service.url}/console/#/usage/1`)
  await page.goto(`${service.url}/console/#/explore/1?from=-1h`)
  await page.waitForSelector('#query')
  await page.type('#query', 'status:(500')
  await untilShown(page, 'column 8')
  assert.equal(await page.evaluate("document.querySelector('.query .primary').disabled"), true)
})

test('groups over time', options, async () => {
  const { page } = seen
  await page.goto(`${service.url}/console/#/explore/1?from=-1h&by=service&fn=uniq&of=trace_id`)
  await page.waitForSelector('.top-list .facet-value')
  await page.waitForSelector('.chart canvas')
  const first = String(await page.evaluate("document.querySelector('.top-list li').innerText"))
  assert.match(first, /cart|search|auth/)
})

test('a field is found by any part of its name, by keys; none such is said', options, async () => {
  const { page } = seen
  await page.goto(`${service.url}/console/#/explore/1?from=-1h&by=servise`)
  // The wide event is past the caps: so nobody knows all fields.
  await untilShown(page, 'is servise, and not all were learned; nearest:')
  await page.locator('.unknown button').click()
  await page.waitForFunction("location.hash.includes('by=service')")
  await page.waitForSelector('.top-list .facet-value')
  await page.locator('#group-by').fill('service,ATU')
  await page.waitForSelector('#group-by[aria-expanded=true]')
  await untilShown(page, 'integer ·')
  await page.keyboard.press('ArrowDown')
  const active = "document.activeElement.getAttribute('aria-activedescendant')"
  await page.waitForFunction(`document.getElementById(${active})?.ariaSelected === 'true'`)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await page.waitForFunction("decodeURIComponent(location.hash).includes('by=service,status')")
})

test('an open event has an address, which is shared and brings it back', options, async () => {
  const { page } = seen
  await page.goto(`${service.url}/console/#/explore/1?from=-1h&q=level:error`)
  await untilShown(page, 'card refused')
  await page.locator('.event-place .event-row').click()
  await page.waitForSelector('.event-open')
  assert.match(await hash(), /&event=\d+-\d+$/)
  await page.keyboard.press('s')
  await untilShown(page, 'Copied.')
  const link = 'document.querySelector(\'[aria-label="The link"]\').value'
  const shared = String(await page.evaluate(link))
  assert.match(decodeURIComponent(shared), /event=\d+-\d+.*&to=20\d\d-\d\d-\d\dT/)
  await page.keyboard.press('Escape')
  await page.goBack()
  await page.waitForFunction("document.querySelector('.event-open') === null")
  // Of an event that the list does not have: it is shown above.
  await page.goto(shared.replace('level%3Aerror', 'level%3Adebug'))
  await untilShown(page, 'The event of the link')
  await untilShown(page, 'card refused')
})

test('hostile events: HTML is text, digits stay, a megabyte opens at once', options, async () => {
  const { page } = seen
  await openOnly('big:*', HOSTILE)
  await untilShown(page, BIG)
  const startMs = performance.now()
  await openOnly('message:long', 'long')
  await untilShown(page, 'more characters')
  assert.ok(performance.now() - startMs < 5_000)
  await openOnly('message:wide', 'wide')
  await page.locator('.tree .twist').click()
  await untilShown(page, '200 more')
  assert.equal(await page.title(), 'shop · Sluice')
})

test('live: what comes is on top, and going on is not lost by a link', options, async () => {
  const { page } = seen
  const { key } = await api.createKey('1')
  await page.goto(`${service.url}/console/#/explore/1?from=-1h&q=level:fatal&live=1`)
  await untilShown(page, 'Live')
  for (let turn = 0; turn < 40; turn++) {
    const event = JSON.stringify({ level: 'fatal', message: `seen live ${turn}` })
    assert.equal((await api.ingest(key, event)).status, 200)
    const isShown = await page.evaluate("document.body.innerText.includes('seen live')")
    if (isShown) return
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  assert.fail('nothing came')
})

test('explain: what is different in the range, each with the way to its events', {
  skip: NO_BROWSER || ONLY_LONG,
}, async () => {
  const { page } = seen
  const { id, key } = await api.createStream({ name: 'changed' })
  const lines = Array.from({ length: 120 }, (_, n) => {
    const timestamp = `2026-03-01T1${n % 2}:${10 + (n % 50)}:00Z`
    const failed = n % 2 === 1 && n % 3 === 0 ? { failed: HOSTILE } : {}
    return JSON.stringify({ timestamp, service: 'cart', message: 'paid', ...failed })
  })
  assert.equal((await api.ingest(key, lines.join('\n'))).status, 200)
  await api.untilProjected(id)
  const range = 'from=2026-03-01T11:00:00Z&to=2026-03-01T12:00:00Z'
  await page.goto(`${service.url}/console/#/explore/${id}?${range}`)
  await clickOn(page, 'Explain')
  await untilShown(page, 'is new: 20 events, 0 before')
  await clickOn(page, 'Only these')
  await untilShown(page, '20 events ·')
  assert.match(await hash(), /q=failed=/)
  await clickOn(page, 'Close: What is different')
  assert.doesNotMatch(await hash(), /panel=/)
})

test('no script failed and the security policy was never violated', options, () => {
  assert.deepEqual(seen.faults, [])
})
