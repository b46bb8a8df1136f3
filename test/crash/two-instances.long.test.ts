/**
 * Goal: of two services on one data directory only one ever runs, in whatever container each is:
 * nothing of the one that runs is ended, nothing of its data is touched.
 * Method: a service under load, and others that are started on its data in network and process
 * namespaces of their own, as containers have them: while it runs, and just when it is killed.
 * Then the roles change. In the end both stores hold what was acknowledged.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, call } from '../support/api.ts'
import { ONLY_LONG, rounds } from '../support/fuzzing.ts'
import { Load } from '../support/load.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { verify } from '../support/verify.ts'

const ROUNDS = ONLY_LONG ? 1 : rounds(3)
/** What containers on one volume do not share: the network; process ids and shared memory. */
const CONTAINERS = [
  ['unshare', '--net'],
  ['unshare', '--net', '--ipc', '--pid', '--kill-child', '--mount-proc'],
] as const
const REFUSED = /^sluice: data directory \S+ is in use by process \d+[^;]*; stop it or use another/m

const dataDir = makeDataDir()
const running = new Set<Service>()

after(async () => {
  for (const service of running) await service.kill()
  await removeDataDir(dataDir)
})

async function start(via: readonly string[] = []): Promise<Service> {
  const service = await Service.start({ dataDir, via })
  running.add(service)
  return service
}

/** Undefined when it was refused, as somebody else was quicker. */
async function tryStart(via: readonly string[] = []): Promise<Service | undefined> {
  try {
    return await start(via)
  } catch (cause) {
    assert.match(String(cause), REFUSED)
    return undefined
  }
}

async function assertRefused(via: readonly string[]): Promise<void> {
  const { code, stderr } = await Service.runToEnd(['--data', dataDir, '--port', '0'], {}, via)
  assert.match(stderr, REFUSED, via.join(' '))
  assert.equal(code, 1)
}

function whyNot(): string | undefined {
  if (process.platform !== 'linux') return 'there are no namespaces here'
  for (const [command, ...args] of CONTAINERS) {
    const { status, stderr, error } = spawnSync(command, [...args, 'true'], { encoding: 'utf8' })
    if (status !== 0) return `namespaces are not to be had: ${stderr.trim() || error?.message}`
  }
  return undefined
}

test('a second service in another container never gets at the data of the first', async (t) => {
  const reason = whyNot()
  if (reason !== undefined) return t.skip(reason)
  let service = await start()
  const api = new Api(service)
  const load = await Load.create(api, ['single', 'ndjson', 'array', 'gzip', 'text'])
  t.after(() => load.stop())
  for (let round = 0; round < ROUNDS; round++) {
    load.start()
    await Promise.all(CONTAINERS.map(assertRefused))
    assert.equal((await call(`${service.url}/readyz`)).status, 200)
    assert.doesNotMatch(service.output, /died; starting it again/)
    // Two others wait for the moment in which it is killed; one of them may get the directory.
    const others = CONTAINERS.map((via) => sleep(Math.random() * 300).then(() => tryStart(via)))
    await service.kill()
    running.delete(service)
    await load.stop()
    const started = (await Promise.all(others)).filter((one) => one !== undefined)
    assert.ok(started.length <= 1, 'one of two at most')
    const other = started[0] ?? (await start(CONTAINERS[round % CONTAINERS.length]))
    await assertRefused([])
    await assertRefused(CONTAINERS[0])
    assert.ok(other.isRunning)
    assert.doesNotMatch(other.output, /died; starting it again/)
    await other.kill()
    running.delete(other)
    service = await start()
    api.url = service.url
  }
  const verified = await verify(api, load)
  t.diagnostic(JSON.stringify({ ...load.counts, ...verified }))
  assert.ok(load.counts.acknowledged > 30)
})
