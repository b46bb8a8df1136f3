/**
 * Goal: what an engineer on call does takes few actions: a click, a key (with those held), a text
 * that is typed. The start of an incident and its service four, its first error two more, the same
 * trace in all services one, an export two, a link for a colleague one.
 * Method: Chromium against a running service, by the mouse alone and by keys alone, on three sizes
 * of windows, light and dark. The mouse goes only to what is in sight. What a person reads is read
 * from what is in sight; axe looks at each step.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { KeyInput, Page } from 'puppeteer-core'
import { eventually } from '../../store/temporary.ts'
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
import { type Incident, sendIncident } from './incident-events.ts'
import { violationsOn } from './violations.ts'

const dataDir = makeDataDir()
const downloads = makeDataDir()
const options = { skip: NO_BROWSER }
let service: Service
let seen: Seen
let page: Page
let api: Api
let incident: Incident
const links = { stream: '', trace: '' }

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  api = new Api(service)
  incident = await sendIncident(api)
  seen = await openBrowser()
  page = seen.page
  const cdp = await page.createCDPSession()
  const folder = { behavior: 'allow', downloadPath: downloads } as const
  await cdp.send('Browser.setDownloadBehavior', folder)
  await page.evaluateOnNewDocument('delete window.showSaveFilePicker')
  await page.goto(`${service.url}/console/`)
  await signIn(page, service.token)
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
  await removeDataDir(downloads)
})

let actions = 0
async function press(key: KeyInput): Promise<void> {
  actions++
  await page.keyboard.press(key)
}

/** Where the first is that `selector` finds and a person sees: nothing lies over it. */
async function click(selector: string): Promise<void> {
  actions++
  const handle = await page.locator(selector).waitHandle()
  const { x, y, width, height } = (await handle.boundingBox())!
  const at = { x: x + Math.min(width / 2, 100), y: y + height / 2 }
  const isSeen = await handle.evaluate(
    `(one) => one.contains(document.elementFromPoint(${at.x}, ${at.y}))` as never,
  )
  assert.ok(isSeen, `${selector} is not in sight`)
  await page.mouse.click(at.x, at.y)
}

/** Does it, and says when it takes more actions, or leaves a page that not everybody can use. */
async function task(name: string, actionsMax: number, work: () => Promise<void>): Promise<void> {
  actions = 0
  await work()
  console.log(`${name}: ${actions} actions of ${actionsMax}`)
  assert.ok(actions <= actionsMax, `${name} took ${actions} actions`)
  assert.deepEqual(await violationsOn(page), [], name)
}

const settled = () =>
  page.waitForFunction(`document.querySelector('.is-stale, [aria-busy=true]') === null &&
    document.body.innerText.includes('behind')`)
const bars = `document.querySelectorAll('.bar.is-error').length`

/** Presses in the bar left of the highest red ones, where it may begin, and lets go at the last. */
async function drawOverErrors(): Promise<void> {
  actions++
  const all = (await page.evaluate(`[...document.querySelectorAll('.bar.is-error')].map((bar) => {
    const { x, y, width, height } = bar.getBoundingClientRect()
    return { x, y, width, height }
  })`)) as readonly { x: number; y: number; width: number; height: number }[]
  const highest = Math.max(...all.map(({ height }) => height))
  const high = all.filter(({ height }) => height > highest / 3)
  const [first, last] = [high[0]!, high.at(-1)!]
  await page.mouse.move(first.x - first.width / 2, first.y + 1)
  await page.mouse.down()
  await page.mouse.move(last.x + last.width - 1, last.y + 1, { steps: 5 })
  await page.mouse.up()
}

/** The lines that are in sight, as they are read. */
async function rowsInSight(): Promise<readonly { text: string; index: number }[]> {
  return (await page.evaluate(`[...document.querySelectorAll('.event-place > .event-row')]
    .filter((row) => {
      const { left, top, bottom } = row.getBoundingClientRect()
      const isOnTop = row.contains(document.elementFromPoint(left + 99, top + 9))
      return top > 0 && bottom <= innerHeight && isOnTop
    })
    .map((row) => ({
      text: row.innerText.replaceAll('\\n', ' '),
      index: Number(row.dataset.index),
    }))`)) as readonly { text: string; index: number }[]
}

/** The time above is when it began; the error that has the focus tells the service. */
async function assertFound(): Promise<void> {
  const told = String(await page.evaluate("document.querySelector('#time').innerText"))
  const [from] = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.exec(told) ?? []
  const startMs = Date.parse(`${from?.replace(' ', 'T')}Z`)
  const lateMs = incident.startMs - startMs
  assert.ok(lateMs >= 0 && lateMs <= 10 * 60_000, `${told}: it began ${lateMs} ms later`)
  assert.match(await focused(), /payments/)
}

/** The line that has the focus, which has to be in sight. */
async function focused(): Promise<string> {
  const row = `document.activeElement.matches('.event-row') && document.activeElement`
  await page.waitForFunction(row)
  const text = String(await page.evaluate(`${row}.innerText`))
  const shown = await rowsInSight()
  const index = Number(await page.evaluate(`${row}.dataset.index`))
  assert.ok(
    shown.some((one) => one.index === index),
    `${text} is not in sight`,
  )
  return text
}

const first = () => new Date(incident.startMs).toISOString().slice(11, 23)

async function assertFirst(): Promise<void> {
  const text = await focused()
  assert.ok(text.includes(first()), `${text}, not ${first()}`)
}

const narrowed = async () => {
  await page.waitForFunction("location.hash.includes('to=')")
  await settled()
}
const reordered = async () => {
  await page.waitForFunction("location.hash.includes('oldest')")
  await settled()
}

/** Of the list; the trace is in three streams. */
async function assertTrace(): Promise<void> {
  await page.waitForFunction("location.hash.includes('_trace_id')")
  await untilShown(page, '3 events · 3 loaded')
  await settled()
  const texts = (await rowsInSight()).map(({ text }) => text).join('\n')
  for (const name of ['shop', 'edge', 'bank']) assert.match(texts, new RegExp(name))
}

async function assertExported(): Promise<void> {
  await untilShown(page, 'Complete')
  const files = () => readdirSync(downloads).filter((name) => name.endsWith('.ndjson'))
  await eventually('the file is there', () => files().length === 1)
  const path = join(downloads, files()[0]!)
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  assert.equal(lines.length, 3, lines.join('\n'))
  rmSync(path)
}

async function readLink(): Promise<string> {
  await untilShown(page, 'The link holds no token')
  return String(await page.evaluate(`document.querySelector('[aria-label="The link"]').value`))
}

interface Hands {
  readonly findStart: () => Promise<void>
  readonly firstError: () => Promise<void>
  readonly trace: () => Promise<void>
  readonly exportIt: () => Promise<void>
  readonly share: () => Promise<void>
}

const MOUSE: Hands = {
  findStart: async () => {
    await click('#time')
    await click('.preset-list ::-p-text(Last 4 hours)')
    await page.waitForFunction(`${bars} > 10`)
    await settled()
    await drawOverErrors()
    await narrowed()
    await click('.list-tools ::-p-text(↓ error)')
    await assertFound()
  },
  firstError: async () => {
    await click('#order')
    await reordered()
    await click('.list-tools ::-p-text(↓ error)')
    await assertFirst()
  },
  trace: async () => {
    await click('.list-tools ::-p-text(trace)')
    await assertTrace()
  },
  exportIt: async () => {
    await click('#export')
    await click('dialog [type=submit]')
    await assertExported()
  },
  share: async () => await click('#share'),
}

const KEYS: Hands = {
  findStart: async () => {
    await press('t')
    await press('4')
    await page.waitForFunction(`${bars} > 10`)
    await settled()
    await press('h')
    await narrowed()
    await press('n')
    await assertFound()
  },
  firstError: async () => {
    await press('o')
    await reordered()
    await press('n')
    await assertFirst()
  },
  trace: async () => {
    await press('a')
    await assertTrace()
  },
  exportIt: async () => {
    await press('e')
    await page.waitForFunction("document.activeElement.matches('dialog form input')")
    await press('Enter')
    await assertExported()
  },
  share: async () => await press('s'),
}

for (const [width, height] of [
  [1440, 900],
  [1280, 720],
  [390, 844],
] as const) {
  for (const theme of ['light', 'dark'] as const) {
    for (const [by, hands] of [
      ['mouse', MOUSE],
      ['keys', KEYS],
    ] as const) {
      test(`by ${by}, ${width} by ${height}, ${theme}`, options, async () => {
        await page.setViewport({ width, height })
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
        await page.evaluate(
          `localStorage.setItem('sluice.stream', ${JSON.stringify(incident.shop)})`,
        )
        await page.goto('about:blank')
        await page.goto(`${service.url}/console/`)
        await settled()
        const close = async () => {
          await page.keyboard.press('Escape')
          await page.waitForFunction("document.querySelector('dialog[open]') === null")
        }
        await task('start and service', 4, hands.findStart)
        await task('the first error', 2, hands.firstError)
        await task('a link to it', 1, async () => {
          await hands.share()
          links.stream = await readLink()
        })
        await close()
        await task('the same trace everywhere', 1, hands.trace)
        await task('an export', 2, hands.exportIt)
        await close()
        await task('a link to the trace', 1, async () => {
          await hands.share()
          links.trace = await readLink()
        })
      })
    }
  }
}

test(
  'a colleague who sees less gets what they may, and is told what they may not',
  options,
  async () => {
    const body = {
      name: 'edge only',
      scopes: ['events:read', 'streams:read'],
      streams: [incident.edge],
    }
    const { token } = JSON.parse(await api.rest('/v1/tokens', 'POST', body)) as { token: string }
    const context = await seen.browser.createBrowserContext()
    try {
      const theirs = await context.newPage()
      await theirs.goto(links.trace)
      await fillIn(theirs, 'Access token', token)
      await clickOn(theirs, 'Sign in')
      await untilShown(theirs, '1 event · 1 loaded')
      await untilShown(theirs, 'POST /pay')
      await untilShown(theirs, 'of those streams that this token sees')
      await theirs.goto(links.stream)
      await untilShown(theirs, 'sees no stream')
      // Nothing of the question before is left.
      await theirs.waitForFunction("document.querySelector('.is-stale, .bar') === null")
      assert.deepEqual(await violationsOn(theirs), [])
    } finally {
      await context.close()
    }
  },
)

test('no script failed and the security policy was never violated', options, () => {
  assert.deepEqual(seen.faults, [])
})
