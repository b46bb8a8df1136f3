/**
 * Goal: the list of events is worked with by mouse alone and by keyboard alone: columns, errors,
 * the same value everywhere; an open event shows what is in it; there is one scroll bar, and typing
 * moves nothing.
 * Method: Chromium against a running service with two streams and text that no page may obey.
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
const EVENTS = 3_000
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const HOSTILE = '<b onclick=alert(1)>\u001b[31mred\u001b[0m \u001b[2J \u202ekcab</b>'
const FRAMES = '    at next (/app/a.js)\n'.repeat(150)
const STACK = `Error: refused\n    at pay (/app/pay.js:12:5)\n${FRAMES}end`
let service: Service
let seen: Seen

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  const api = new Api(service)
  const startMs = Date.now() - EVENTS * 100
  const send = async (key: string, events: readonly object[]) => {
    const body = `${events.map((event) => JSON.stringify(event)).join('\n')}\n`
    const answer = await api.ingest(key, body, { 'content-type': NDJSON_TYPE })
    assert.equal(answer.status, 200, answer.text)
  }
  const shop = await api.createStream({ name: 'shop' })
  const edge = await api.createStream({ name: 'edge' })
  const fields = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`c${n}`, `value ${n}`]))
  const events = Array.from({ length: EVENTS }, (_, n) => ({
    time: new Date(startMs + n * 100).toISOString(),
    level: n % 1_000 === 500 ? 'error' : 'info',
    service: 'cart',
    message: `request ${n} was served`,
    ...(n % 2 === 0 && { region: 'eu' }),
    ...fields,
  }))
  const odd = {
    time: new Date(startMs + EVENTS * 100).toISOString(),
    level: 'fatal',
    message: HOSTILE,
    stack: STACK,
    body: '{"user":{"id":77},"note":"<i>x</i>"}',
    trace_id: TRACE,
    pod: 'shop-1',
  }
  await send(shop.key, [...events, odd])
  const other = { time: odd.time, app: 'proxy', message: 'retried', traceId: TRACE, pod: 'shop-1' }
  await send(edge.key, [other, { ...other, traceId: 'x', pod: 'shop-2' }])
  await api.untilCounted('1', EVENTS + 1)
  await api.untilCounted('2', 2)
  seen = await openBrowser(1280, 720)
  await seen.page.goto(`${service.url}/console/`)
  await signIn(seen.page, service.token)
})

after(async () => {
  await seen?.browser.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const options = { skip: NO_BROWSER }

async function open(address: string): Promise<void> {
  await load(seen.page, `${service.url}/console/#/explore${address}`)
  await seen.page.waitForFunction("document.querySelector('.event-place') !== null")
  await untilShown(seen.page, 'behind')
}

const read = (script: string) => seen.page.evaluate(script)
const NAMES = `[...document.querySelectorAll('.is-header .name')].slice(1)
  .map((one) => one.innerText).join()`
const names = () => read(NAMES)
const untilNames = (wanted: string) =>
  seen.page.waitForFunction(`${NAMES} === ${JSON.stringify(wanted)}`)
const hash = async () => decodeURIComponent(String(await read('location.hash')))

/** The middle of an element on the page. */
async function middleOf(selector: string): Promise<{ x: number; y: number }> {
  const box = (await seen.page.$(selector).then((one) => one!.boundingBox()))!
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

async function dragTo(selector: string, x: number): Promise<void> {
  const { mouse } = seen.page
  const from = await middleOf(selector)
  await mouse.move(from.x, from.y)
  await mouse.down()
  await mouse.move((from.x + x) / 2, from.y)
  await mouse.move(x, from.y)
  await mouse.up()
}

const nameOf = (at: number) => `.is-header .cell:nth-child(${at + 3}) .name`
const gripOf = (at: number) => `.is-header .cell:nth-child(${at + 3}) .grip`
const widthOf = (at: number) =>
  read(`document.querySelector('.event-place .cell:nth-child(${at + 3})').offsetWidth`)

test(
  'by mouse: columns are moved, sized and removed, and the address keeps it',
  options,
  async () => {
    const { page } = seen
    await open('/1?cols=c0,c1')
    assert.equal(await names(), 'Service,c0,c1,Event')
    const { x } = await middleOf(nameOf(0))
    await dragTo(nameOf(2), x)
    await untilNames('c1,Service,c0,Event')
    const edge = await middleOf(gripOf(0))
    const width = Number(await widthOf(0))
    await dragTo(gripOf(0), edge.x + 100)
    await page.waitForFunction("location.hash.includes('widths=')")
    assert.equal(await widthOf(0), width + 100)
    await page.locator(nameOf(2)).click()
    await clickOn(page, 'Remove Delete')
    await untilNames('c1,Service,Event')
    await page.reload()
    await page.waitForFunction("document.querySelector('.event-place') !== null")
    await untilNames('c1,Service,Event')
    assert.equal(await widthOf(0), width + 100)
    await page.locator('.is-header .name').click()
    await clickOn(page, 'Columns as at first')
    await untilNames('Service,Event')
  },
)

test('an edge that is clicked, or let go of, leaves its column as it is', options, async () => {
  const { page } = seen
  await open('/1?cols=c0&widths=c0:150')
  const inline = (at: number) =>
    read(`document.querySelector('.event-grid').style.getPropertyValue('--w${at}')`)
  await page.click(gripOf(0))
  await page.click(gripOf(1))
  assert.deepEqual([await inline(0), await inline(1)], ['', '150px'])
  for (const [at, before] of [
    [0, ''],
    [1, '150px'],
  ] as const) {
    const { x, y } = await middleOf(gripOf(at))
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + 60, y)
    assert.notEqual(await inline(at), before)
    await read(`document.querySelector('${gripOf(at)}').dispatchEvent(
      new PointerEvent('pointercancel', { bubbles: true }))`)
    await page.mouse.up()
    assert.equal(await inline(at), before)
  }
  assert.match(await hash(), /\?cols=c0&widths=c0:150$/)
  // By a key the menu opens, also after a drag.
  await dragTo(nameOf(1), 10_000)
  await untilNames('Service,Event,c0')
  await page.keyboard.press('Enter')
  await untilShown(page, 'Usual width')
  await page.keyboard.press('Escape')
})

test('by keys: the same, and what was removed comes back', options, async () => {
  const { page } = seen
  await open('/1?cols=c0')
  await page.focus('.is-header .name')
  const shifted = async (key: 'ArrowLeft' | 'ArrowRight') => {
    await page.keyboard.down('Shift')
    await page.keyboard.press(key)
    await page.keyboard.up('Shift')
  }
  await page.keyboard.press('ArrowRight')
  await shifted('ArrowRight')
  await untilNames('c0,Service,Event')
  await shifted('ArrowRight')
  await untilNames('c0,Event,Service')
  const width = Number(await widthOf(2))
  await page.keyboard.press('-')
  await page.waitForFunction("location.hash.includes('widths=_service')")
  assert.ok(Number(await widthOf(2)) < width)
  await page.keyboard.press('Delete')
  await untilNames('c0,Event')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Delete')
  await untilNames('c0')
  await page.keyboard.press('Enter')
  await untilShown(page, 'Show the event')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await untilNames('c0,Event')
})

test('a counted field is removed; a link goes with what it is of', options, async () => {
  const { page } = seen
  await open('/1?facets=region')
  await page.locator('::-p-aria([name="Remove the values of \u2068region\u2069"])').click()
  await page.waitForFunction("!location.hash.includes('facets=')")
  await page.keyboard.press('s')
  await untilShown(page, 'Share what is shown')
  await page.goBack()
  await page.waitForSelector('dialog', { hidden: true })
})

test('twenty columns scroll sideways; time and names stay', options, async () => {
  const { page } = seen
  await open(`/1?cols=${Array.from({ length: 20 }, (_, n) => `c${n}`).join()}`)
  await read("document.querySelector('.events').scrollTo(100_000, 300)")
  const shown = `(() => {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect()
    const [list, time, head] = [box('.events'), box('.event-place .time'), box('.is-header')]
    const last = [...document.querySelectorAll('.is-header .cell')].at(-1).getBoundingClientRect()
    return [time.left - list.left < 2, head.top - list.top < 2, last.right <= list.right + 1]
  })()`
  assert.deepEqual(await read(shown), [true, true, true])
  const widths = `[...document.querySelectorAll('.event-place .cell:nth-child(9)')].every((one) =>
    one.getBoundingClientRect().left ===
      document.querySelector('.is-header .cell:nth-child(9)').getBoundingClientRect().left)`
  assert.equal(await read(widths), true, 'columns stand below their names')
  assert.equal(await read('document.documentElement.scrollWidth <= innerWidth'), true)
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await untilShown(page, 'Around it')
  const opened = "document.querySelector('.event-open').getBoundingClientRect()"
  assert.equal(await read(`${opened}.right <= innerWidth && ${opened}.left >= 0`), true)
})

const focused = "document.activeElement.closest('.event-row')?.innerText"
const untilFocused = (text: string) =>
  seen.page.waitForFunction(`${focused}?.includes(${JSON.stringify(text)})`)

test(
  'errors are jumped to in both orders; what is jumped over can be loaded',
  options,
  async () => {
    const { page } = seen
    await open('/1')
    for (const line of ['red', 'request 2500 ', 'request 1500 ', 'request 500 ']) {
      await page.keyboard.press('n')
      await untilFocused(line)
    }
    await page.keyboard.press('n')
    await untilShown(page, 'No more errors')
    await page.keyboard.press('p')
    await untilFocused('request 1500 ')
    await open('/1?order=oldest')
    for (const line of ['request 500 ', 'request 1500 ']) {
      await page.keyboard.press('n')
      await untilFocused(line)
    }
    const above = "document.activeElement.closest('.event-place').previousElementSibling.innerText"
    assert.match(String(await read(above)), /in between are not loaded/)
    await clickOn(page, 'Load them')
    await page.waitForFunction("document.querySelector('.is-gap') === null")
    const rows = `[...document.querySelectorAll('.event-place .line')]
    .map((one) => Number(/request (\\d+)/.exec(one.innerText)?.[1]))`
    const shown = (await read(rows)) as number[]
    assert.deepEqual(
      shown,
      shown.toSorted((a, b) => a - b),
    )
    assert.equal(new Set(shown).size, shown.length)
  },
)

test('a value is looked for everywhere, a trace by all of its names', options, async () => {
  const { page } = seen
  const openOdd = async () => {
    await open('/1?q=_level:fatal')
    await page.locator('.event-place .event-row').click()
    await untilShown(page, 'JSON in it')
  }
  const leaf = (text: string) =>
    read(`[...document.querySelectorAll('.leaf')]
      .find((one) => one.innerText === ${JSON.stringify(text)}).focus()`)
  await openOdd()
  await leaf('shop-1')
  await page.keyboard.press('a')
  await untilShown(page, '2 events')
  assert.match(await hash(), /^#\/explore\?q=pod="shop-1"&from=.*&to=/)
  await openOdd()
  await page.locator('.as-button').click()
  await untilShown(page, '2 events')
  await untilShown(page, 'retried')
  assert.match(await hash(), new RegExp(`^#/explore\\?q=_trace_id:"?${TRACE}"?&from=`))
})

test('an open event: lines are kept, JSON is unfolded, colours are classes', options, async () => {
  const { page } = seen
  await open('/1?q=_level:fatal')
  const line = "document.querySelector('.event-place .line')"
  assert.equal(await read(`${line}.querySelector('.ansi-red').innerText`), 'red')
  assert.equal(
    await read(`${line}.innerText`),
    '<b onclick=alert(1)>red \\u001b[2J \\u202ekcab</b>',
  )
  await page.locator('.event-place .event-row').click()
  await untilShown(page, 'JSON in it')
  const stack = "document.querySelector('.leaf.has-lines')"
  assert.equal(await read(`${stack}.innerText`), STACK)
  assert.match(String(await read(`getComputedStyle(${stack}).fontFamily`)), /monospace/)
  assert.ok(Number(await read(`${stack}.offsetHeight`)) > 150 * 15)
  const tree = String(await read("document.querySelector('.tree').innerText"))
  assert.match(tree, /user {…}\s+id: 77\s+note: <i>x<\/i>/)
  await clickOn(page, 'colours')
  await page.waitForFunction("document.querySelector('.ansi-red') === null")
  await clickOn(page, 'colours')
})

test(
  'one scroll bar at any size, ten rows beside groups, and typing moves nothing',
  options,
  async () => {
    const { page } = seen
    const scrolls = `[document.documentElement, document.querySelector('main')]
    .some((one) => one.scrollHeight > one.clientHeight)`
    for (const [width, height] of [
      [1440, 900],
      [1280, 720],
      [1280, 600],
      [768, 1024],
      [390, 844],
    ]) {
      await page.setViewport({ width: width!, height: height! })
      await open('/1?q=request&by=region')
      await untilShown(page, 'leave them out')
      await page.waitForSelector('.chart canvas')
      assert.equal(await read(scrolls), false, `${width} x ${height}`)
      const room = "document.querySelector('.events').clientHeight / 26 - 1"
      if (width === 1280 && height === 720) assert.ok(Number(await read(room)) >= 10)
      const top = "document.querySelector('.events').getBoundingClientRect().top"
      const before = await read(top)
      await page.focus('#query')
      for (const text of [' AND (', ' "', 'x '.repeat(100)]) {
        await page.keyboard.type(text)
        assert.equal(await read(top), before, `${width} x ${height}: ${text}`)
      }
    }
    await page.setViewport({ width: 1280, height: 720 })
    await open('/1?q=request&by=region')
    await clickOn(page, 'leave them out')
    await untilShown(page, '1,500 events')
    assert.match(await hash(), /q=request\+region:\*/)
  },
)

test('no script failed and the security policy was never violated', options, () => {
  assert.deepEqual(seen.faults, [])
})
