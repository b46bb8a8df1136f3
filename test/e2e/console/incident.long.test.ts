/**
 * Goal: from "errors went up" to the one event that explains it in under a minute, by mouse alone
 * and by keyboard alone.
 * Method: hours of requests, among them a stretch in which payments fail because of one thing that
 * was told once. A person sees bars, reads counts and values; so does the test, by nothing but what
 * is on the page, and acts by nothing but the one device. Chromium against a running service.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api } from '../../support/api.ts'
import {
  load,
  NO_BROWSER,
  openBrowser,
  type Seen,
  signIn,
  untilShown,
} from '../../support/browser.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { REASON, sendIncident } from './incident-events.ts'

const dataDir = makeDataDir()
const WITHIN_MS = 60_000
let service: Service
let seen: Seen

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  await sendIncident(new Api(service))
  seen = await openBrowser()
  const { page } = seen
  await page.goto(`${service.url}/console/`)
  await signIn(page, service.token)
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }

/** The page with the last hour, as whoever is woken up finds it. */
async function begin(): Promise<number> {
  const { page } = seen
  await load(page, `${service.url}/console/#/explore/1`)
  await untilShown(page, 'complete')
  return performance.now()
}

test('by mouse alone', options, async () => {
  const { page } = seen
  const startMs = await begin()
  const click = async (selector: string) => {
    const box = await (await page.locator(selector).waitHandle()).boundingBox()
    await page.mouse.click(box!.x + box!.width / 2, box!.y + box!.height / 2)
  }
  await click('#time')
  await click('::-p-text(Last 4 hours)')
  await page.waitForFunction("document.querySelectorAll('.bar.is-error').length > 10")
  await drawOverHighestErrors()
  await click('.facet-value ::-p-text(payments)')
  await page.waitForFunction("document.querySelectorAll('.facet:nth-of-type(2) li').length === 1")
  await click('.facet-value ::-p-text(fatal)')
  await untilShown(page, '1 event · 1 loaded')
  await click('.event-place .event-row')
  await untilShown(page, REASON)
  const tookMs = performance.now() - startMs
  assert.ok(tookMs < WITHIN_MS, `it took ${tookMs} ms`)
})

/** Presses at the left of the highest red bars, and lets go at their right. */
async function drawOverHighestErrors(): Promise<void> {
  const { page } = seen
  const bars = (await page.evaluate(`[...document.querySelectorAll('.bar.is-error')].map((bar) => {
    const { x, y, width, height } = bar.getBoundingClientRect()
    return { x, y, width, height }
  })`)) as readonly { x: number; y: number; width: number; height: number }[]
  const highest = Math.max(...bars.map(({ height }) => height))
  const high = bars.filter(({ height }) => height > highest / 3)
  assert.ok(high.length < bars.length / 2, 'the bad stretch does not stand out')
  const [first, last] = [high[0]!, high.at(-1)!]
  await page.mouse.move(first.x + 1, first.y)
  await page.mouse.down()
  await page.mouse.move(last.x + last.width - 1, last.y, { steps: 5 })
  await page.mouse.up()
  await page.waitForFunction("location.hash.includes('to=')")
}

test('what is different in the stretch says it, and shows just these', options, async () => {
  const { page } = seen
  await begin()
  await page.evaluate("location.hash = '#/explore/1?from=-4h'")
  await page.waitForFunction("document.querySelectorAll('.bar.is-error').length > 10")
  await drawOverHighestErrors()
  await page.keyboard.press('d')
  await untilShown(page, '_level:error')
  const [first] = (await page.$$eval('.findings li', (rows) =>
    rows.map((row) => row.textContent),
  )) as [string]
  assert.match(first, /^▲.*_level:error.*payments/s)
  await page.select('.groups select', 'yesterday')
  await page.waitForFunction("location.hash.includes('against=yesterday')")
  await page.select('.groups select', 'before')
  await untilShown(page, '_level:error')
  await page.click('.findings li:first-child a')
  await page.waitForFunction("location.hash.includes('q=')")
  await page.waitForFunction("document.querySelectorAll('.facet:first-of-type li').length === 1")
  await page.keyboard.press('d')
  await page.waitForFunction("document.querySelector('.findings') === null")
})

test('by keyboard alone', options, async () => {
  const { page } = seen
  await page.evaluate("location.hash = '#/usage/1'")
  const startMs = await begin()
  const { keyboard } = page
  const label = () => page.evaluate(`document.activeElement.ariaLabel ?? ''`) as Promise<string>
  // With the focus nowhere, the body is active, whose text is all there is.
  const text = () =>
    page.evaluate(
      'document.activeElement === document.body ? "" : document.activeElement.innerText',
    ) as Promise<string>
  const tabTo = async (isThere: () => Promise<boolean>) => {
    for (let n = 0; n < 40 && !(await isThere()); n++) await keyboard.press('Tab')
    assert.ok(await isThere(), 'Tab does not get there')
  }
  await keyboard.press('t')
  await tabTo(async () => (await text()).includes('Last 4 hours'))
  await keyboard.press('Enter')
  await page.waitForFunction("document.querySelectorAll('.bar.is-error').length > 10")
  await tabTo(async () => (await label()) === 'Events by time')
  await drawByKeys()
  await keyboard.press('/')
  await keyboard.type('_service:payments _level:>error')
  await keyboard.press('Enter')
  await untilShown(page, '1 event · 1 loaded')
  await keyboard.press('Escape')
  await keyboard.press('j')
  await page.waitForFunction("document.activeElement.matches('.event-row')")
  await keyboard.press('Enter')
  await untilShown(page, REASON)
  const tookMs = performance.now() - startMs
  assert.ok(tookMs < WITHIN_MS, `it took ${tookMs} ms`)
})

/** Goes over the bars as they are read out, and draws over those with the most errors. */
async function drawByKeys(): Promise<void> {
  const { page } = seen
  const { keyboard } = page
  const errors = async () => {
    const told = String(await page.evaluate('document.activeElement.ariaValueText'))
    return Number(/error ([\d,]+)/.exec(told)?.[1]?.replaceAll(',', '') ?? 0)
  }
  await keyboard.press('ArrowLeft')
  await keyboard.press('Home')
  const counts: number[] = []
  const bars = Number(await page.evaluate('document.activeElement.ariaValueMax')) + 1
  for (let n = 0; n < bars; n++) {
    counts.push(await errors())
    await keyboard.press('ArrowRight')
  }
  const many = Math.max(...counts) / 3
  const first = counts.findIndex((count) => count > many)
  const last = counts.findLastIndex((count) => count > many)
  await keyboard.press('Home')
  for (let n = 0; n < first; n++) await keyboard.press('ArrowRight')
  await keyboard.down('Shift')
  for (let n = first; n < last; n++) await keyboard.press('ArrowRight')
  await keyboard.up('Shift')
  await keyboard.press('Enter')
  await page.waitForFunction("location.hash.includes('to=')")
}

test(
  'a value with the focus is filtered by its key, and left out by the other',
  options,
  async () => {
    const { page } = seen
    const { keyboard } = page
    const hash = () => page.evaluate('decodeURIComponent(location.hash)') as Promise<string>
    // The event is open, its line has the focus.
    await keyboard.press('ArrowRight')
    await page.waitForFunction("document.activeElement.matches('.leaf')")
    const isAt = (text: string) =>
      page.evaluate(`document.activeElement.innerText.trim() === ${JSON.stringify(text)}`)
    for (let n = 0; n < 12 && !(await isAt(REASON)); n++) await keyboard.press('ArrowDown')
    await keyboard.press('f')
    await page.waitForFunction("location.hash.includes('cause.reason')")
    assert.match(await hash(), /cause\.reason="certificate of bank-gw expired"|cause\.reason=/)
    await untilShown(page, '1 event · 1 loaded')
    await keyboard.press('ArrowDown')
    await page.waitForFunction("document.activeElement.innerText.trim() === '4'")
    await keyboard.press('x')
    await page.waitForFunction("location.hash.includes('since_s')")
    await untilShown(page, 'No event matches')
    await untilShown(page, 'Without')
  },
)

test('no script failed and the security policy was never violated', options, () => {
  assert.deepEqual(seen.faults, [])
})
