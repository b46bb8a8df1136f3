/**
 * Goal: what an answer says of itself, the page says: partial and why, how late, sampled.
 * Method: a real service with more events than facets look at. What a test cannot bring about in
 * time comes from the service as well, with the members changed that say so.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, NDJSON_TYPE } from '../../support/api.ts'
import {
  load,
  NO_BROWSER,
  openBrowser,
  type Seen,
  signIn,
  untilShown,
} from '../../support/browser.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const dataDir = makeDataDir()
const EVENTS = 1_000
let service: Service
let seen: Seen
let key = ''

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  const api = new Api(service)
  key = (await api.createStream({ name: 'shop' })).key
  await send(EVENTS)
  await api.untilCounted('1', EVENTS)
  seen = await openBrowser()
  await seen.page.goto(`${service.url}/console/`)
  await signIn(seen.page, service.token)
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }

async function send(count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, n) => `{"level":"info","message":"event ${n}"}\n`)
  const headers = { 'content-type': NDJSON_TYPE }
  const answer = await new Api(service).ingest(key, lines.join(''), headers)
  assert.equal(answer.status, 200, answer.text)
}

/** Answers a request of the page with what the service says, but for these members. */
async function alter(
  path: string,
  members: object,
  run: () => Promise<void>,
  address = '#/explore/1',
): Promise<void> {
  const { page } = seen
  const script = await page.evaluateOnNewDocument(`{
    const real = window.fetch
    window.fetch = async (url, init) => {
      const response = await real(url, init)
      if (!String(url).endsWith(${JSON.stringify(path)})) return response
      const text = await response.text()
      const answer = { ...JSON.parse(text), ...${JSON.stringify(members)} }
      return new Response(JSON.stringify(answer), { status: response.status })
    }
  }`)
  await load(page, `${service.url}/console/${address}`)
  await run()
  await page.removeScriptToEvaluateOnNewDocument(script.identifier)
}

const COVERED = { from: '2026-01-31T10:00:00.000Z', to: '2026-01-31T11:00:00.000Z' }
const OTHER_MOMENT = 'counts with “about” are of another moment than the total'
const PARTIAL = { complete: false, reason: 'timeout', covered: COVERED }

test(
  'values that were counted over part of the events say so, and since when',
  options,
  async () => {
    const values = [{ value: 'info', count: 1_234_567 }]
    const level = { field: '_level', events: 2_000_000, distinct: 1, estimated: false, values }
    const facets = [level, { ...level, field: 'n', estimated: true }]
    await alter('/facets', { facets, sampled: true, covered: COVERED }, async () => {
      await untilShown(seen.page, '1,000 events')
      await untilShown(seen.page, 'counts with “about” are of the newest events, since 2')
      const counts = await seen.page.evaluate(
        "[...document.querySelectorAll('.facet-count')].map((one) => one.innerText)",
      )
      assert.deepEqual(counts, ['1,234,567', 'about 1,234,567'])
    })
  },
)

/** Waits until the first element that is selected has this text. */
async function untilReads(selector: string, text: string): Promise<void> {
  const read = `document.querySelector(${JSON.stringify(selector)})?.innerText`
  await seen.page.waitForFunction(`${read} === ${JSON.stringify(text)}`)
}

test('figures of another moment than the total are “about”', options, async () => {
  const facet = '.facets .facet-count'
  await alter('/facets', { events: EVENTS + 7 }, async () => {
    await untilReads(facet, 'about 1,000')
    await untilReads('.facets .quiet:not(summary)', OTHER_MOMENT)
  })
  const grouped = async (figure: string, note: string) => {
    await untilReads('.groups .facet-count', figure)
    await untilReads('.groups .answer-note', note)
    await untilReads(facet, '1,000')
  }
  const other = () =>
    grouped('about 1,000', 'Events · about 1 groups · of another moment than the total')
  await alter('/query', { total: EVENTS + 7 }, other, '#/explore/1?by=_level')
  await alter('/query', {}, () => grouped('1,000', 'Events · 1 groups'), '#/explore/1?by=_level')
})

test('estimated figures are “about”, exact ones of many groups are not', options, async () => {
  const groups = async (params: string, figure: string, of: string) => {
    const run = async () => {
      await untilReads('.groups .facet-count', figure)
      await untilReads('.groups .answer-note', `${of} · about 1 groups · ▲ estimated`)
    }
    await alter('/query', { estimated: true }, run, `#/explore/1?by=_level${params}`)
  }
  await groups('&fn=uniq&of=message', 'about 1,000', 'uniq of message')
  await groups('', '1,000', 'Events')
})

test('a partial search says why, and what it covers', options, async () => {
  await alter('/search', PARTIAL, async () => {
    await untilShown(seen.page, '▲ partial: the time was over, only 2026-01-31')
    const note = await seen.page.evaluate("document.querySelector('.answer-note').innerText")
    assert.doesNotMatch(String(note), /complete/)
  })
})

test('so does a partial histogram, and one that is late says by how much', options, async () => {
  await alter('/histogram', { ...PARTIAL, lag_ms: 42_000 }, async () => {
    await untilShown(seen.page, '▲ counts partial: the time was over')
    await untilShown(seen.page, 'counts are 42 s behind')
  })
})

test('a sampled answer says so', options, async () => {
  await alter('/search', { sampled: true }, async () => untilShown(seen.page, '▲ sampled'))
  await alter('/histogram', { sampled: true }, async () => {
    await untilShown(seen.page, '▲ counts sampled')
  })
})

test("a proxy's page in place of an answer is told as what it is", options, async () => {
  const { page } = seen
  const script = await page.evaluateOnNewDocument(`{
    const real = window.fetch
    const html = { headers: { 'content-type': 'text/html; charset=utf-8' } }
    window.fetch = (url, init) =>
      String(url).endsWith('/search')
        ? Promise.resolve(new Response('<html>Sign in</html>', html))
        : real(url, init)
  }`)
  await load(page, `${service.url}/console/#/explore/1`)
  await untilShown(page, 'answered with a page of its own, such as a form to sign in')
  await page.removeScriptToEvaluateOnNewDocument(script.identifier)
})

test('what cannot be drawn is told in its place, and the page goes on', options, async () => {
  const run = async () => {
    await untilShown(seen.page, 'This cannot be shown')
    await seen.page.evaluate("location.hash = '#/streams'")
    await untilShown(seen.page, 'New stream')
  }
  await alter('/views', { views: null }, run, '#/views/1')
  const faults = seen.faults as string[]
  assert.ok(faults.length > 0)
  assert.deepEqual(
    faults.splice(0).filter((fault) => !/null/.test(fault)),
    [],
  )
})

test('a browser that keeps nothing shows the page', options, async () => {
  const { page } = seen
  const script = await page.evaluateOnNewDocument(`Object.defineProperty(window, 'localStorage', {
    get() { throw new DOMException('refused', 'SecurityError') }
  })`)
  await load(page, `${service.url}/console/#/explore/1`)
  await untilShown(page, 'Access token')
  await page.removeScriptToEvaluateOnNewDocument(script.identifier)
})

test('no script failed and the security policy was never violated', options, () => {
  assert.deepEqual(seen.faults, [])
})
