/**
 * Goal: a thousand streams are found by typing and by figures without a thousand requests; another
 * stream is asked the same; earlier searches come back; a view is edited, and not over somebody
 * else's change unawares; usage tells which key sent and which was refused.
 * Method: Chromium against a running service; errors of scripts and of the security policy fail.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
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

const STREAMS = 1_000
const ALL = '1,000 streams'
const dataDir = makeDataDir()
let service: Service
let api: Api
let seen: Seen

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  api = new Api(service)
  seen = await openBrowser()
  const { page } = seen
  await page.goto(`${service.url}/console/`)
  await signIn(page, service.token)
  for (let n = 0; n < STREAMS; n += 50) {
    const some = Array.from({ length: Math.min(50, STREAMS - n) }, (_, at) => {
      const rate = n + at === 0 ? { rate_budget: 10 } : {}
      return api.rest('/v1/streams', 'POST', { name: `stream-${n + at}`, ...rate })
    })
    await Promise.all(some)
  }
  const lines = Array.from({ length: 300 }, (_, n) => {
    return `{"level":"${n % 2 ? 'error' : 'info'}","service":"cart","n":${n}}`
  })
  const { id } = await streamOf('stream-0')
  const key = await api.createKey(id)
  const headers = { 'content-type': NDJSON_TYPE }
  assert.equal((await api.ingest(key.key, lines.join('\n'), headers)).status, 200)
  assert.equal((await api.ingest(key.key, '{}')).status, 429)
  await api.untilProjected(id)
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }

async function streamOf(name: string): Promise<{ readonly id: string }> {
  const { streams } = JSON.parse(await api.rest('/v1/streams'))
  return streams.find((one: { readonly name: string }) => one.name === name)
}

const evaluate = (code: string) => seen.page.evaluate(code)
/** Of the screen, without the list of streams above it. */
const shown = async () => {
  const text = String(await evaluate("document.querySelector('main').innerText"))
  return text.replaceAll(/\s+/g, ' ')
}
const untilCounted = (events: number) => {
  return seen.page.waitForFunction(
    `document.querySelector('main')?.innerText.includes('${events} events')`,
  )
}
const firstName = () => evaluate("document.querySelector('.table tbody th')?.innerText")

test(
  'a thousand streams: few requests, filtered and sorted at once, by keyboard',
  options,
  async () => {
    const { page } = seen
    const asked: string[] = []
    const note = (request: { url(): string }) => asked.push(request.url())
    page.on('request', note)
    await load(page, `${service.url}/console/#/streams?sort=-events`)
    await untilShown(page, ALL)
    await page.waitForFunction("document.querySelector('.table td.number')?.innerText === '300'")
    assert.equal(await firstName(), 'stream-0')
    page.off('request', note)
    const calls = asked.filter((url) => url.includes('/v1/'))
    assert.ok(calls.length < 20, `${calls.length} requests`)
    await page.keyboard.press('/')
    const began = performance.now()
    await page.keyboard.type('eam-77')
    await untilShown(page, `11 of ${ALL}`)
    assert.ok(performance.now() - began < 10_000)
    await clickOn(page, 'Name')
    await page.waitForFunction("document.querySelector('th[aria-sort=ascending]') !== null")
    assert.equal(await firstName(), 'stream-77')
    await page.keyboard.press('/')
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter'] as const) await page.keyboard.press(key)
    await untilShown(page, 'API keys')
    assert.equal(await evaluate("document.querySelector('h1').innerText"), 'stream-770')
  },
)

test(
  'another stream is asked the same, in the same range, by the same clock',
  options,
  async () => {
    const { page } = seen
    const { id } = await streamOf('stream-0')
    const other = await streamOf('stream-1')
    const asked = '?q=level%3Aerror&from=-24h&basis=ingested_at'
    await load(page, `${service.url}/console/#/explore/${id}${asked}&cols=n&live=1`)
    await untilCounted(150)
    await page.select('.stream-picker', other.id)
    await page.waitForFunction(`location.hash === '#/explore/${other.id}${asked}'`)
  },
)

test(
  'earlier searches: by ↑ in an empty query; forgotten, and not kept any more',
  options,
  async () => {
    const { page } = seen
    const { id } = await streamOf('stream-0')
    await load(page, `${service.url}/console/#/explore/${id}`)
    await untilCounted(300)
    await page.focus('#query')
    await page.keyboard.press('ArrowUp')
    await untilShown(page, 'stream-0 · Last 24 hours, by receipt')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForFunction(`location.hash.includes('/${id}?q=level%3Aerror&from=-24h')`)
    await clickOn(page, 'Earlier searches')
    await clickOn(page, 'Forget all')
    await untilShown(page, 'Nothing was searched for yet.')
    await page.click('dialog input[type=checkbox]')
    await page.keyboard.press('Escape')
    await load(page, `${service.url}/console/#/explore/${id}?q=secret`)
    await untilCounted(0)
    assert.equal(await evaluate("localStorage.getItem('sluice.searches')"), 'off')
  },
)

test("a view is edited; over somebody else's change only when one says so", options, async () => {
  const { page } = seen
  const { id } = await streamOf('stream-0')
  const path = `/v1/streams/${id}/views`
  const columns = [{ path: 'n', width: 70 }]
  const made = JSON.parse(await api.rest(path, 'POST', { name: 'Errors', query: 'n:1', columns }))
  const now = async () => JSON.parse(await api.rest(`${path}/${made.id}`))
  await load(page, `${service.url}/console/#/views/${id}`)
  await untilShown(page, 'Errors')
  await clickOn(page, 'Edit the view \u2068Errors\u2069')
  await fillIn(page, 'Name', 'Faults')
  await fillIn(page, 'Columns', 'level, n')
  await clickOn(page, 'Save')
  await untilShown(page, 'Faults is saved')
  const { name, columns: changed, query } = await now()
  assert.deepEqual([name, query], ['Faults', 'n:1'])
  assert.deepEqual(changed, [{ path: 'level' }, columns[0]])
  await clickOn(page, 'Edit the view \u2068Faults\u2069')
  await fillIn(page, 'What it is for', 'mine')
  await api.rest(`${path}/${made.id}`, 'PATCH', { query: 'n:2', description: 'theirs' })
  await away('GET', `/views/${made.id}`)
  await clickOn(page, 'Save')
  await untilShown(page, 'what they changed cannot be read: The server answered 500: it is away')
  await away('none', '')
  await clickOn(page, 'Save')
  await untilShown(page, 'Somebody else has changed this view meanwhile')
  await untilShown(page, 'n:2')
  assert.equal((await now()).description, 'theirs')
  await clickOn(page, 'Save mine over it')
  await page.waitForFunction("document.querySelector('dialog') === null")
  await untilShown(page, 'is saved')
  const last = await now()
  assert.deepEqual([last.description, last.query], ['mine', 'n:2'])
  await clickOn(page, 'Delete the view \u2068Faults\u2069')
  await untilShown(page, 'It is gone for everybody who sees the stream.')
  await page.keyboard.press('Escape')
  await page.waitForSelector('dialog', { hidden: true })
  assert.equal((await now()).name, 'Faults')
  await clickOn(page, 'Delete the view \u2068Faults\u2069')
  await clickOn(page, 'Delete view')
  await untilShown(page, 'is deleted')
  await untilShown(page, 'No view is saved yet')
  // The browser's own lines about the 412.
  const faults = seen.faults as string[]
  assert.equal(faults.splice(0).filter((fault) => /412/.test(fault)).length, 2)
})

/** From now on this is answered with a failure, without a word to the service. */
const away = (method: string, path: string) =>
  evaluate(`{
    window.realFetch ??= window.fetch
    window.fetch = (url, init) =>
      init?.method === '${method}' && '${path}' !== '' && String(url).endsWith('${path}')
        ? Promise.resolve(new Response('{"detail":"it is away"}', { status: 500 }))
        : window.realFetch(url, init)
  }`)

test(
  'a view is saved once by two quick keys, and a new chart comes with new figures',
  options,
  async () => {
    const { page } = seen
    const { id } = await streamOf('stream-0')
    await load(page, `${service.url}/console/#/explore/${id}?from=-24h&basis=ingested_at`)
    await untilCounted(300)
    await clickOn(page, 'Save')
    await fillIn(page, 'Name', 'twice')
    await evaluate(
      "for (let n = 0; n < 2; n++) document.querySelector('dialog form').requestSubmit()",
    )
    await untilShown(page, 'twice is saved')
    const { views } = JSON.parse(await api.rest(`/v1/streams/${id}/views`))
    assert.equal(views.length, 1)
    await load(page, `${service.url}/console/#/usage/${id}`)
    await untilShown(page, 'by seconds, which nothing keeps', 60_000)
    await evaluate(`{
    window.charts = 0
    window.answers = 0
    const real = window.fetch
    window.fetch = (url, init) => {
      if (String(url).endsWith('/usage')) window.answers++
      return real(url, init)
    }
    new MutationObserver((all) => {
      for (const { addedNodes } of all) {
        for (const node of addedNodes) if (node.classList?.contains('uplot')) window.charts++
      }
    }).observe([...document.querySelectorAll('.chart')].at(-1), { childList: true })
  }`)
    await page.waitForFunction('window.charts >= 4', { timeout: 60_000 })
    // One answer may have been under way.
    assert.ok(Number(await evaluate('window.charts - window.answers')) <= 1)
  },
)

test('usage: by service, by key, and who was refused', options, async () => {
  const { page } = seen
  const { id } = await streamOf('stream-0')
  await load(page, `${service.url}/console/#/usage/${id}?last=-24h`)
  await untilShown(page, 'Limit, or what was wrong')
  await untilShown(page, '100 %')
  const text = await shown()
  assert.match(text, /test 1 300 [\d.]+ KiB 100 %/)
  assert.match(text, /test rate limited rate_budget 1 not counted 2 B/)
  await clickOn(page, 'By service')
  await page.waitForFunction("document.querySelector('.chart')?.ariaLabel?.includes('cart')")
  await load(page, `${service.url}/console/#/usage`)
  await untilShown(page, 'Requests refused without a known key')
  assert.deepEqual(seen.faults, [])
})
