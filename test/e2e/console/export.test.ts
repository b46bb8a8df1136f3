/**
 * Goal: what Explore shows is saved as a file, whole, with the token in no address; one that is not
 * whole says so, on the page and in its last line; one that was given up is nowhere.
 * Method: Chromium against a running service. The picker of files, which only a person can use, is
 * the browser's own store of files instead; what breaks an answer off is done to it in the page.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually } from '../../store/temporary.ts'
import { Api, call, NDJSON_TYPE } from '../../support/api.ts'
import {
  clickOn,
  load,
  NO_BROWSER,
  openBrowser,
  type Seen,
  signIn,
  untilShown,
} from '../../support/browser.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import {
  makeDataDir,
  removeDataDir,
  type SharedService,
  shareService,
} from '../../support/service.ts'

const EVENTS = 6_000
const downloads = makeDataDir()
let service: SharedService
let seen: Seen
let api: Api
let id = ''
const urls: string[] = []

before(async () => {
  if (NO_BROWSER) return
  service = await shareService()
  api = new Api(service)
  const stream = await api.createStream({ name: 'shop' })
  id = stream.id
  const lines = Array.from({ length: EVENTS }, (_, n) => {
    return JSON.stringify({ level: 'info', n, message: n % 2 ? `=sum(${n})` : `line\r\n${n}` })
  })
  const answer = await api.ingest(stream.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
  assert.equal(answer.status, 200, answer.text)
  await api.untilCounted(id, EVENTS)
  await eventually('its fields are known', async () => {
    return JSON.parse(await api.rest(`/v1/streams/${id}/fields`)).fields.length >= 3
  })
  seen = await openBrowser()
  const { page } = seen
  const cdp = await page.createCDPSession()
  const folder = { behavior: 'allow', downloadPath: downloads } as const
  await cdp.send('Browser.setDownloadBehavior', folder)
  page.on('request', (request) => urls.push(request.url()))
  await page.goto(`${service.url}/console/`)
  await signIn(page, service.token)
})

after(async () => {
  await seen?.browser.close()
  await service?.close()
  await removeDataDir(downloads)
})

const options = { skip: NO_BROWSER }
const NO_PICKER = 'delete window.showSaveFilePicker'
const PICKER = `window.showSaveFilePicker = async ({ suggestedName }) => {
  const folder = await navigator.storage.getDirectory()
  return await folder.getFileHandle(suggestedName, { create: true })
}`

/** What `body`, a function of the text of an answer, makes of that of an export. */
const altered = (body: string) => `${PICKER}
  const real = window.fetch
  window.fetch = async (url, init) => {
    const response = await real(url, init)
    if (init.headers.Accept === undefined || init.headers.Accept === 'text/event-stream')
      return response
    init.signal.addEventListener('abort', () => (window.isGivenUp = true))
    const text = await response.text()
    const send = (part) => new TextEncoder().encode(part)
    return new Response(new ReadableStream({ async start(to) { ${body} } }))
  }`

/** Explore, with what is done to the page before its own scripts run. */
async function explore(address: string, script: string, run: () => Promise<void>): Promise<void> {
  const { page } = seen
  const added = await page.evaluateOnNewDocument(`{ ${script} }`)
  await load(page, `${service.url}/console/#/explore/${id}${address}`)
  await untilShown(page, 'complete')
  await run()
  await page.removeScriptToEvaluateOnNewDocument(added.identifier)
}

async function direct(accept: string, body: object): Promise<string> {
  const headers = {
    authorization: `Bearer ${api.token}`,
    accept,
    'content-type': 'application/json',
  }
  const request = { order: 'newest', from: '-1h', time_basis: 'event_time', ...body }
  const url = `${service.url}/v1/streams/${id}/search`
  const answer = await call(url, { method: 'POST', headers, body: JSON.stringify(request) })
  assert.equal(answer.status, 200, answer.text)
  return answer.text
}

/** What the last export that was picked has in its file. */
const picked = () =>
  seen.page.evaluate(`(async () => {
    const folder = await navigator.storage.getDirectory()
    let newest
    for await (const handle of folder.values()) {
      const file = await handle.getFile()
      if (newest === undefined || file.lastModified >= newest.lastModified) newest = file
    }
    return await newest.text()
  })()`) as Promise<string>
const dropFiles = () =>
  seen.page.evaluate(`(async () => {
    const folder = await navigator.storage.getDirectory()
    for await (const name of folder.keys()) await folder.removeEntry(name)
  })()`)

const long = { skip: options.skip || ONLY_LONG }

test('CSV of the columns shown, safe, saved where there is no picker', long, async () => {
  await explore('?cols=message,_level,n', NO_PICKER, async () => {
    const { page } = seen
    await clickOn(page, 'Export')
    await untilShown(page, 'message, n; without _level')
    await untilShown(page, 'about 6,000 events')
    await untilShown(page, 'at most 256 MiB')
    await page.locator('dialog button[type=submit]').click()
    await untilShown(page, 'Complete: 6,000 events')
    await clickOn(page, 'Close')
    await page.waitForFunction("document.querySelector('dialog') === null")
    assert.equal(await page.evaluate('document.activeElement.id'), 'export')
  })
  const wanted = await direct('text/csv', { fields: ['message', 'n'], csv_safe: true })
  const named = () => readdirSync(downloads).find((one) => one.endsWith('.csv')) ?? ''
  await eventually('the file is there', () => named() !== '')
  const name = named()
  assert.match(name, /^shop-\d{4}-\d\d-\d\d-\d{6}\.csv$/)
  const file = join(downloads, name)
  assert.equal(readFileSync(file, 'utf8'), `\uFEFF${wanted}`)
  assert.match(wanted, /,'=sum\(5999\),5999\r\n/)
})

test('by keys: whole events as NDJSON, into a file that is picked', options, async () => {
  await explore('', PICKER, async () => {
    const { page } = seen
    await page.keyboard.press('e')
    await untilShown(page, '3 columns')
    await page.keyboard.press('ArrowDown')
    await untilShown(page, 'whole events')
    await page.keyboard.press('Enter')
    await untilShown(page, 'Complete: 6,000 events')
    assert.equal(await picked(), await direct(NDJSON_TYPE, {}))
    await page.keyboard.press('Enter')
    await page.waitForFunction("document.querySelector('dialog') === null")
  })
})

test('a range that is over has its count exactly', long, async () => {
  const range = `?from=${new Date(Date.now() - 3_600_000).toISOString()}&to=`
  await explore(range + new Date().toISOString(), PICKER, async () => {
    await eventually('counts are not behind', async () => {
      await load(seen.page, seen.page.url())
      await untilShown(seen.page, 'complete')
      await clickOn(seen.page, 'Export')
      await untilShown(seen.page, '6,000 events\nFormat')
      const text = String(await seen.page.evaluate("document.querySelector('dialog').innerText"))
      return !text.includes('about')
    })
  })
})

const exportLines = async () => {
  const { page } = seen
  await dropFiles()
  await clickOn(page, 'Export')
  await clickOn(page, 'NDJSON')
  await page.locator('dialog button[type=submit]').click()
}

test('an answer that breaks off leaves whole events, and a last line', long, async () => {
  const cut = `to.enqueue(send(text.slice(0, text.length / 2)))
    setTimeout(() => to.error(new TypeError('network error')), 100)`
  await explore('', altered(cut), async () => {
    await exportLines()
    await untilShown(seen.page, 'Incomplete: broken off: the connection was lost')
    const lines = (await picked()).split('\n')
    assert.equal(lines.pop(), '')
    const last = JSON.parse(lines.pop()!) as object
    assert.deepEqual(last, { complete: false, reason: 'broken off: the connection was lost' })
    const all = (await direct(NDJSON_TYPE, {})).split('\n')
    assert.deepEqual(lines, all.slice(0, lines.length))
    assert.ok(lines.length > EVENTS / 4, `${lines.length} events`)
    const told = String(await seen.page.evaluate("document.querySelector('dialog').innerText"))
    assert.match(told, new RegExp(`${lines.length.toLocaleString('en-US')} events`))
  })
})

test('what a browser without a picker does not keep is told', long, async () => {
  const part = 8 * 1024 * 1024
  const endless = `const line = send('{"id":"1","payload":"' + 'x'.repeat(${part}) + '"}\\n')
    for (let n = 0; n < 40; n++) to.enqueue(line.slice())
    to.close()`
  await explore('', `${altered(endless)}; ${NO_PICKER}`, async () => {
    await exportLines()
    await untilShown(seen.page, 'this browser keeps at most 256 MiB of a file', 60_000)
    const named = () => readdirSync(downloads).find((one) => one.endsWith('.ndjson')) ?? ''
    await eventually('the file is there', () => named() !== '')
    const text = readFileSync(join(downloads, named()), 'utf8')
    assert.ok(text.length <= 256 * 1024 * 1024 + 1_024 && text.length > 31 * part)
    assert.match(
      text.slice(-200),
      /"\}\n\{"complete":false,"reason":"this browser keeps [^"]+"\}\n$/,
    )
  })
})

test('what the service says is missing is told', options, async () => {
  const why = '3 events are in damaged segments'
  const ending = JSON.stringify({ complete: false, reason: why, damaged: [] })
  const more = `to.enqueue(send(text + ${JSON.stringify(`${ending}\n`)})); to.close()`
  await explore('', altered(more), async () => {
    await exportLines()
    await untilShown(seen.page, `Incomplete: ${why}`)
    await untilShown(seen.page, '6,000 events')
    assert.ok((await picked()).endsWith(`}\n${ending}\n`))
  })
})

test('Escape gives it up: nothing is asked any more, nothing is saved', options, async () => {
  const halt = `to.enqueue(send(text.slice(0, text.length / 2)))
    init.signal.addEventListener('abort', () => to.error(init.signal.reason))`
  await explore('', altered(halt), async () => {
    const { page } = seen
    await exportLines()
    await page.waitForFunction(
      "/[1-9],\\d+ events, /.test(document.querySelector('dialog').innerText)",
    )
    await page.keyboard.press('Escape')
    await untilShown(page, 'The export was given up: nothing is saved')
    await page.waitForFunction('window.isGivenUp === true')
    await eventually('nothing is kept', async () => (await picked()) === '')
  })
})

test('one that is refused says why, and can be tried again', options, async () => {
  const refuse = `${PICKER}
    const real = window.fetch
    window.fetch = async (url, init) => init.headers.Accept === undefined ? real(url, init) :
      new Response('{"code":"overloaded","detail":"8 exports are running"}', { status: 429 })`
  await explore('', refuse, async () => {
    await exportLines()
    await untilShown(seen.page, '8 exports are running')
    const again = "document.querySelector('dialog button[type=submit]').disabled"
    assert.equal(await seen.page.evaluate(again), false)
  })
})

test('the token was in no address, no script failed', options, () => {
  assert.ok(urls.length > 0)
  assert.deepEqual(
    urls.filter((url) => url.includes(service.token)),
    [],
  )
  assert.deepEqual(
    seen.faults.filter((fault) => !fault.includes('429')),
    [],
  )
})
