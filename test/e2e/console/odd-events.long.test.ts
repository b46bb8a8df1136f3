/**
 * Goal: whatever a field is called, what the page does with it is about that field: filters,
 * columns, groups, counted values, in addresses as well. What is not seen is shown by its escape,
 * but for colours of terminals, and unlike values look unlike.
 * Method: Chromium against a running service with an event of odd names and hostile characters,
 * beside events that a mistaken name would find instead.
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
import { someOf } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const dataDir = makeDataDir()
let service: Service
let seen: Seen
let api: Api

/** Each has a value that no other field has. */
const ODD_NAMES = [
  ...['_level', '_stream', '_bucket', 'figure', '.a', 'a[]b', 'a,b', 'a`b', 'user name'],
  ...['back\\slash', '\u202egnp'],
]
const HOSTILE = '\u001b[31mred\u0007 \u202egnp.exe'

before(async () => {
  if (NO_BROWSER) return
  service = await Service.start({ dataDir })
  api = new Api(service)
  const { key } = await api.createStream({ name: 'odd' })
  const odd = Object.fromEntries(ODD_NAMES.map((name, index) => [name, `value ${index}`]))
  const events: object[] = [
    { level: 'warn', message: 'odd names', ...odd },
    { level: 'error', service: 'a', a: 'value 4', b: 'value 6', message: HOSTILE, status: 200 },
    { level: 'info', service: HOSTILE, message: 'text', status: '200', [HOSTILE]: HOSTILE },
    { level: 'info', message: 'list', status: [300], service: 'مرحبا' },
    { level: 'info', message: 'bool', status: true, ok: 'true' },
  ]
  const body = `${events.map((event) => JSON.stringify(event)).join('\n')}\n`
  const answer = await api.ingest(key, body, { 'content-type': NDJSON_TYPE })
  assert.equal(answer.status, 200, answer.text)
  await api.untilCounted('1', events.length)
  const view = { name: 'hostile', query: `message:"${HOSTILE}"`, description: HOSTILE }
  await api.rest('/v1/streams/1/views', 'POST', view)
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

const open = (hash: string) => load(seen.page, `${service.url}/console/${hash}`)

/** Opens the odd event, and puts the focus on the value. */
async function focusOn(value: string): Promise<void> {
  const { page } = seen
  await open('#/explore/1?q="odd names"')
  await untilShown(page, '1 event · 1 loaded')
  await page.locator('.event-place .event-row').click()
  const leaves = "[...document.querySelectorAll('.leaf')]"
  const wanted = JSON.stringify(value)
  await page.waitForFunction(`${leaves}.some((leaf) => leaf.innerText.trim() === ${wanted})`)
  await page.evaluate(`${leaves}.find((leaf) => leaf.innerText.trim() === ${wanted}).focus()`)
}

test('any field, included, finds its event; excluded, it does not', options, async () => {
  const { page } = seen
  for (const [index, name] of someOf([...ODD_NAMES.entries()])) {
    for (const [key, found] of [
      ['f', '1 event · 1 loaded'],
      ['x', 'No event matches'],
    ] as const) {
      await focusOn(`value ${index}`)
      await page.keyboard.press(key)
      await page.waitForFunction(`decodeURIComponent(location.hash).includes('value+${index}')`)
      await untilShown(page, found)
      assert.doesNotMatch(String(await page.evaluate('document.body.innerText')), /⚠/, name)
    }
  }
})

test('any field as a column shows its value, alone and from an address', options, async () => {
  const { page } = seen
  const cells = "[...document.querySelectorAll('.event-place .col')].map((one) => one.innerText)"
  for (const [index, name] of someOf([...ODD_NAMES.entries()])) {
    await focusOn(`value ${index}`)
    await page.keyboard.press('c')
    await page.waitForFunction(`${cells}.join('|') === 'value ${index}'`)
    await page.reload()
    await page.waitForFunction(`${cells}.join('|') === 'value ${index}'`).catch(() => {
      assert.fail(`${name} is no column after a reload`)
    })
  }
  await open(`#/explore/1?q="odd names"&cols=${encodeURIComponent('`a,b`,`a[]b`,`.a`,_level')}`)
  await page.waitForFunction(`${cells}.join('|') === 'value 6|value 5|value 4|warn'`)
})

test('any field can be grouped by and counted, and a group filters by it', options, async () => {
  const { page } = seen
  for (const [index, name] of someOf([...ODD_NAMES.entries()])) {
    await focusOn(`value ${index}`)
    await page.keyboard.press('g')
    await page.waitForFunction(
      `document.querySelector('.top-list .facet-value')?.innerText.includes('value ${index}')`,
    )
    await page.keyboard.press('c')
    const facet = `[...document.querySelectorAll('.facet-text')]`
    await page.waitForFunction(`${facet}.some((one) => one.innerText === 'value ${index}')`)
    await page.locator('.top-list .facet-value').click()
    await page.waitForFunction(`decodeURIComponent(location.hash).includes('value+${index}')`)
    await untilShown(page, '1 event · 1 loaded')
    assert.doesNotMatch(String(await page.evaluate('document.body.innerText')), /⚠/, name)
  }
})

test('a number and a string of its digits look unlike, and are found apart', options, async () => {
  const { page } = seen
  const texts = `[...document.querySelectorAll('.facet:nth-of-type(3) .facet-text')]
    .map((one) => one.innerText)`
  const areThere = `${texts}.includes('"200"') && ${texts}.includes('200')`
  await open('#/explore/1?facets=status&by=status')
  await page.waitForFunction(areThere)
  const groups = `[...document.querySelectorAll('.top-list .facet-text')]
    .map((one) => one.innerText)`
  await page.waitForFunction(`${groups}.includes('"200"') && ${groups}.includes('200')`)
  for (const [value, line] of [
    ['200', 'red\\u0007'],
    ['"200"', 'text'],
  ] as const) {
    await open('#/explore/1?facets=status')
    await page.waitForFunction(areThere)
    await page.evaluate(`[...document.querySelectorAll('.facet:nth-of-type(3) .facet-text')]
      .find((one) => one.innerText === ${JSON.stringify(value)}).click()`)
    await untilShown(page, '1 event · 1 loaded')
    await untilShown(page, line)
  }
})

test(
  'no character of an event is obeyed: those that are not seen have their escapes',
  options,
  async () => {
    const { page } = seen
    const column = encodeURIComponent('`\\u001b[31mred\\u0007 \\u202egnp.exe`')
    for (const [hash, shows, selector] of [
      [
        `#/explore/1?cols=${column},service&by=service,${column}`,
        ' groups',
        '.event-place .event-row',
      ],
      ['#/explore/1?q=level:error', '1 event', '.event-place .event-row'],
      [`#/explore/1?q=_service:"${encodeURIComponent(HOSTILE)}x"`, 'No event', undefined],
      ['#/schema/1', 'gnp.exe', 'button.path'],
      ['#/schema/1?tab=shapes', 'an event', 'details summary'],
      ['#/views/1', 'hostile', undefined],
      ['#/explore/1?view=1', 'View hostile', undefined],
    ] as const) {
      await open(hash)
      await untilShown(page, shows)
      if (selector !== undefined) await page.locator(selector).click()
      await page.evaluate('new Promise((done) => setTimeout(done, 500))')
      assert.deepEqual(await page.evaluate(UNSEEN_TEXTS), [], hash)
    }
    await open('#/redaction/1')
    await untilShown(page, 'denylisted key')
    await page.locator('::-p-aria([name="A sample"])').fill(JSON.stringify({ n: HOSTILE }))
    await page.waitForFunction("document.querySelector('.result').innerText.includes('gnp')")
    assert.deepEqual(
      await page.evaluate(`${UNSEEN_TEXTS}.filter((one) => !/textarea/i.test(one))`),
      [],
    )
  },
)

/** Texts, titles and labels of the page in which something is that is not seen. */
const UNSEEN_TEXTS = `(() => {
  const unseen = /(?![\\n\\t\\u2068\\u2069])[\\p{Cc}\\p{Cf}]/u
  const found = []
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    if (unseen.test(texts.currentNode.data)) found.push(texts.currentNode.parentElement.outerHTML)
  }
  for (const one of document.querySelectorAll('[title], [aria-label], [value]')) {
    const all = ['title', 'aria-label', 'value'].map((name) => one.getAttribute(name) ?? '')
    if (all.some((text) => unseen.test(text))) found.push(one.outerHTML)
  }
  return found
})()`

test('no script failed and the security policy was never violated', options, () => {
  assert.deepEqual(seen.faults, [])
})
