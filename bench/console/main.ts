/**
 * `npm run bench:console`: the weight of the page's files, the time to the first rows after the
 * token was given and after a reload of the page, the frames of a scroll over 10,000 rows, the time
 * until an event of a megabyte is open. A fresh service, filled with the bench corpus, and Chromium
 * on the same machine.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Page } from 'puppeteer-core'
import { findBrowser, openBrowser } from '../../test/support/browser.ts'
import { joinLines, loadCorpus } from '../corpus.ts'
import { createStream } from '../e2e/rest.ts'
import { type RunningService, startService } from '../e2e/service.ts'
import { formatTable } from '../table.ts'

const WWW = fileURLToPath(new URL('../../www/', import.meta.url))
const KIB = 1024
const ROWS = 10_000
const BATCH = 5_000
const HELP = `npm run bench:console -- [--events 5000000] [--runs 5] [--json]`

interface Row {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly must?: number
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '5000000' },
      runs: { type: 'string', default: '5' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  if (findBrowser() === undefined) {
    console.error('no Chromium on this machine: apt-get install chromium')
    process.exitCode = 1
    return
  }
  const service = await startService({ nodeFlags: [], isDataKept: false })
  try {
    const stream = await createStream(service, 'console', {})
    await fill(service, stream.key, Number(values.events))
    const rows = [...weigh(), ...(await measure(service, stream.id, Number(values.runs)))]
    if (values.json) console.log(JSON.stringify(rows))
    else console.log(tableOf(rows))
  } finally {
    await service.stop()
  }
}

/** Brotli of what a page loads; of what did not get smaller, the file itself. */
function weigh(): Row[] {
  const page = readFileSync(`${WWW}index.html`, 'utf8')
  const names = readdirSync(WWW)
  const sent = names.filter((name) => name.endsWith('.br') || !names.includes(`${name}.br`))
  const sum = (isLoaded: (name: string) => boolean) => {
    const loaded = sent.filter((name) => isLoaded(name.replace(/\.br$/, '')))
    return loaded.reduce((bytes, name) => bytes + statSync(`${WWW}${name}`).size, 0) / KIB
  }
  const isOfFirst = (name: string) => name === 'index.html' || page.includes(`"${name}"`)
  return [
    { name: 'files before the first rows, brotli', value: sum(isOfFirst), unit: 'KiB', must: 75 },
    {
      name: 'files of Explore with its charts, brotli',
      value: sum((name) => !name.startsWith('other-screens-')),
      unit: 'KiB',
      must: 95,
    },
  ]
}

async function fill(service: RunningService, key: string, events: number): Promise<void> {
  const lines = loadCorpus({ kind: 'json', count: Math.min(events, 200_000) })
  const send = async (body: string | Buffer) => {
    const response = await fetch(`${service.url}/v1/ingest`, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/x-ndjson' },
      body,
    })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  }
  for (let sent = 0; sent < events; sent += 4 * BATCH) {
    const bodies = [0, 1, 2, 3].map((part) => {
      const start = (sent + part * BATCH) % lines.length
      return joinLines(lines.slice(start, start + BATCH))
    })
    await Promise.all(bodies.map(send))
    if (sent % 500_000 === 0) console.error(`${sent} of ${events} events`)
  }
  await send(JSON.stringify({ message: 'the large one', large: 'x'.repeat(KIB * KIB - 200) }))
}

async function measure(service: RunningService, streamId: string, runs: number): Promise<Row[]> {
  const firstRows: number[] = []
  const reloads: number[] = []
  const frames: number[] = []
  const opened: number[] = []
  for (let run = 0; run < runs; run++) {
    const { browser, page } = await openBrowser()
    try {
      const url = `${service.url}/console/#/explore/${streamId}?basis=ingested_at&from=-1h`
      const hasRows = "document.querySelector('.event-place') !== null"
      await page.goto(url)
      await page.type('.sign-in input', service.token)
      const signIn = "document.querySelector('.sign-in button').click()"
      firstRows.push(await timeUntil(page, hasRows, signIn))
      await page.reload()
      reloads.push(await timeUntil(page, hasRows))
      frames.push(await scroll(page))
      await page.goto(`${url}&q=message:"the large one"`)
      const lines = "document.querySelector('.event-place .line')?.innerText"
      await page.waitForFunction(`${lines} === 'the large one'`)
      const isOpen = "document.querySelector('.tree')?.innerText.includes('more characters')"
      const click = "document.querySelector('.event-place .event-row').click()"
      opened.push(await timeUntil(page, isOpen, click))
    } finally {
      await browser.close()
    }
  }
  return [
    { name: 'first rows after the token', value: median(firstRows), unit: 'ms', must: 300 },
    { name: 'first rows after a reload', value: median(reloads), unit: 'ms' },
    { name: `slowest frames of ${ROWS} rows, p95`, value: median(frames), unit: 'ms', must: 17 },
    { name: 'an event of 1 MiB is open', value: median(opened), unit: 'ms', must: 100 },
  ]
}

/** Since the page began, or since it did `act`, by its own clock, looking with every frame. */
async function timeUntil(page: Page, condition: string, act?: string): Promise<number> {
  return (await page.evaluate(`new Promise((resolve) => {
    const start = ${act === undefined ? '0' : 'performance.now()'}
    ${act ?? ''}
    const look = () =>
      ${condition} ? resolve(performance.now() - start) : requestAnimationFrame(look)
    look()
  })`)) as number
}

/** Scrolls down until `ROWS` rows are there, then over all of them; p95 of a frame's time. */
async function scroll(page: Page): Promise<number> {
  return (await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('.event-scroll')
    const rows = () => Number(document.querySelector('.events').getAttribute('aria-rowcount')) - 1
    const times = []
    let last = performance.now()
    let isMeasuring = false
    const step = (now) => {
      if (isMeasuring) times.push(now - last)
      last = now
      if (!isMeasuring) {
        list.scrollTop = list.scrollHeight
        if (rows() >= ${ROWS}) { isMeasuring = true; list.scrollTop = 0 }
      } else {
        list.scrollTop += 260
        if (list.scrollTop + list.clientHeight >= list.scrollHeight - 1) {
          times.sort((a, b) => a - b)
          return resolve(times[Math.floor(times.length * 0.95)])
        }
      }
      requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  })`)) as number
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ name, value, unit, must }) => {
    const holds =
      must === undefined ? ['-', '-'] : [`${must} ${unit}`, value <= must ? 'yes' : 'NO']
    return [name, `${value.toFixed(1)} ${unit}`, ...holds]
  })
  return formatTable(['', 'measured', 'must', 'holds'], cells)
}

await main()
