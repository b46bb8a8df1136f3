/**
 * Goal: who starts the service for the first time in a terminal gets a link that opens the console
 * signed in, once, for some minutes; a journal gets no secret.
 * Method: the service in a pseudo-terminal, which `script` of util-linux makes, and Chromium. That
 * the link ends after SIGN_IN_MS_MAX is tested with a clock of its own in
 * `test/console/console-routes.test.ts`.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { NO_BROWSER, openBrowser, untilShown } from '../../support/browser.ts'
import { ENTRY, makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const START_MS_MAX = 90_000
const NO_TERMINAL =
  spawnSync('script', ['--version']).error !== undefined &&
  'no pseudo-terminal to be had: script (util-linux) is missing'
const dirs: string[] = []
const children: ChildProcess[] = []

after(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const dir of dirs) await removeDataDir(dir)
})

/** Starts the service in a terminal; resolves with what it printed, up to where the data is. */
async function startInTerminal(dataDir: string): Promise<string> {
  const command = `exec '${process.execPath}' '${ENTRY}' --data '${dataDir}' --port 0`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  const deadline = performance.now() + START_MS_MAX
  while (!/^Data: /m.test(printed)) {
    assert.ok(child.exitCode === null && performance.now() < deadline, printed)
    await sleep(50)
  }
  return printed
}

test('in a terminal the first start prints a link that is signed in, once', {
  skip: NO_TERMINAL || NO_BROWSER,
}, async () => {
  const dataDir = makeDataDir()
  dirs.push(dataDir)
  const printed = await startInTerminal(dataDir)
  assert.match(printed, /^First admin token: lap_\w+/m)
  const [, link = ''] =
    /^Console: (\S+#sign-in=[\w-]+) \(.*once, for 15 minutes/m.exec(printed) ?? []
  assert.notEqual(link, '', printed)
  const { browser, page } = await openBrowser()
  try {
    await page.goto(link)
    await untilShown(page, 'Welcome to Sluice')
    // It is in no address and no history that somebody could take it from.
    assert.doesNotMatch(page.url(), /sign-in/)
    await page.reload()
    await untilShown(page, 'Welcome to Sluice')
    const other = await (await browser.createBrowserContext()).newPage()
    await other.goto(link)
    await untilShown(other, 'The sign-in link did not work')
    await untilShown(other, 'Access token')
    assert.doesNotMatch(other.url(), /sign-in/)
  } finally {
    await browser.close()
  }
})

test('where no terminal is, no secret is printed, but where to find one', async () => {
  const dataDir = makeDataDir()
  dirs.push(dataDir)
  const service = await Service.start({ dataDir })
  try {
    assert.doesNotMatch(service.output, /sign-in=|lap_/)
    assert.match(service.output, /^Console: \S+\/console\/$/m)
    assert.match(service.output, /^Admin token: in \S+admin-token$/m)
  } finally {
    await service.kill()
  }
})
