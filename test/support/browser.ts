/** A real browser for tests of the console; without one on the machine they skip, and say so. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, launch, type Page } from 'puppeteer-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Where a browser is: `TEST_CHROMIUM`, or the first of the usual names in the PATH. */
export function findBrowser(): string | undefined {
  const { TEST_CHROMIUM, PATH = '' } = process.env
  if (TEST_CHROMIUM) return TEST_CHROMIUM
  return PATH.split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => existsSync(path))
}

/** For `test`'s `skip`: the reason, where there is no browser. */
export const NO_BROWSER =
  findBrowser() === undefined && 'no Chromium on this machine: apt-get install chromium'

export interface Seen {
  readonly browser: Browser
  readonly page: Page
  /** Errors of scripts and of the console, and violations of the page's security policy. */
  readonly faults: readonly string[]
}

/** A page of its own with nobody signed in. End with `browser.close()`. */
export async function openBrowser(width = 1280, height = 800): Promise<Seen> {
  const browser = await launch({
    executablePath: findBrowser()!,
    // Its sandbox refuses root.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
  const page = await browser.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => {
    faults.push(`script: ${String(error)}`)
  })
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`)
  })
  await page.setViewport({ width, height })
  return { browser, page, faults }
}

/** In a page of the console, which shows it when it is loaded anew; as somebody else before. */
export async function signIn(page: Page, token: string): Promise<void> {
  const headers = JSON.stringify({ authorization: `Bearer ${token}` })
  const asked = `fetch('../v1/session', { method: 'POST', headers: ${headers} })`
  assert.equal(await page.evaluate(`${asked}.then(({ ok }) => ok)`), true)
  // As `console/base/session.ts` notes it.
  const key = "'sluice.session ' + location.pathname"
  await page.evaluate(`localStorage.setItem(${key}, new Date().toISOString())`)
}

/** Loads what is at `url` anew, also where only what stands behind its # is another. */
export async function load(page: Page, url: string): Promise<void> {
  const isThere = page.url().startsWith(new URL(url).origin)
  if (!isThere) return void (await page.goto(url))
  // What is shown does not hear of it, and so does not show it before it is gone.
  await page.evaluate(`history.replaceState(null, '', ${JSON.stringify(url)})`)
  await page.reload()
}

/** Waits until the page shows `text` somewhere. Throws with what it shows when it does not. */
export async function untilShown(page: Page, text: string, waitMs = 20_000): Promise<void> {
  await untilTrue(page, `document.body.innerText.includes(${JSON.stringify(text)})`, waitMs)
}

/** Waits until `expression` is true in the page; the error shows what is on the page instead. */
export async function untilTrue(page: Page, expression: string, waitMs = 20_000): Promise<void> {
  try {
    await page.waitForFunction(expression, { timeout: waitMs })
  } catch (cause) {
    const shown = String(await page.evaluate('document.body.innerText')).slice(0, 2_000)
    throw new Error(`the page at ${page.url()} has not ${expression}, but:\n${shown}`, { cause })
  }
}

/** Clicks the first button, link or tab whose text, or label, is `name`. */
export async function clickOn(page: Page, name: string): Promise<void> {
  await page.locator(`::-p-aria([name=${JSON.stringify(name)}])`).click()
}

/** Replaces what stands in the input that is labelled `name`. */
export async function fillIn(page: Page, name: string, text: string): Promise<void> {
  const selector = `::-p-aria([name=${JSON.stringify(name)}])`
  // What is there is cleared and typed over; a page that is drawn in between brings it back.
  for (let tries = 0; tries < 3; tries++) {
    await page.locator(selector).fill(text)
    const input = await page.locator(selector).waitHandle()
    const value = await input.evaluate((element: unknown) => (element as { value: string }).value)
    if (value === text) return
  }
}
