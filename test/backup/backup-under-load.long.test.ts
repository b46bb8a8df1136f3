/**
 * Goal: a backup that is taken under load has every event that was acknowledged before it began,
 * none twice and no request in part; restored elsewhere, the same keys and tokens work, and the
 * projection comes back. A backup that is broken off leaves nothing.
 * Method: the program as an operator runs it, beside a service with writers of every kind; what was
 * acknowledged after the beginning may be in it or not, as a whole, which `verify.ts` looks into.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { eventually } from '../store/temporary.ts'
import { Api } from '../support/api.ts'
import { Load, WRITER_KINDS } from '../support/load.ts'
import { ENTRY, makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { verify } from '../support/verify.ts'

const ACKNOWLEDGED_MIN = 50
const WAIT_MS = 60_000
const directories = [makeDataDir(), makeDataDir(), makeDataDir()]
const [dataDir, files, restored] = directories as [string, string, string]
const archive = join(files, 'sluice.tar')
const running = new Set<Service>()

after(async () => {
  for (const service of running) await service.kill()
  for (const directory of directories) await removeDataDir(directory)
})

async function start(directory: string, token?: string): Promise<Service> {
  const args = ['--otlp-grpc-port', '0']
  const service = await Service.start({ dataDir: directory, args, ...(token && { token }) })
  running.add(service)
  return service
}

test('a backup under load, restored elsewhere', async () => {
  const service = await start(dataDir)
  const api = new Api(service)
  const load = await Load.create(api, WRITER_KINDS)
  load.grpcUrl = service.grpcUrl
  load.start()
  const some = () => load.counts.acknowledged > ACKNOWLEDGED_MIN
  await eventually('some are acknowledged', some, WAIT_MS)
  const before = new Set(
    load.writers.flatMap(({ sent }) => sent.filter(({ outcome }) => outcome === 'acknowledged')),
  )
  const backup = await Service.runToEnd(['backup', archive, '--data', dataDir])
  assert.equal(backup.code, 0, backup.stderr)
  assert.match(backup.stdout, /^Backup of 20.*: \d+ streams, \d+ events, [\d.]+ MiB\.$/m)
  const more = () => load.counts.acknowledged > before.size
  await eventually('ingest goes on', more, WAIT_MS)
  await load.stop()
  await service.kill()

  assert.equal(statSync(archive).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(files), ['sluice.tar'])
  const check = await Service.runToEnd(['restore', '--check', archive])
  assert.match(check.stdout, /^The archive is whole: \d+ events of 20/m)
  const done = await Service.runToEnd(['restore', archive, '--data', restored])
  assert.equal(done.code, 0, done.stderr)
  const again = await Service.runToEnd(['restore', archive, '--data', restored])
  assert.equal(again.code, 1)
  assert.match(again.stderr, /already holds a Sluice: name an empty one/)

  const other = await start(restored, service.token)
  for (const request of load.writers.flatMap(({ sent }) => sent)) {
    if (request.outcome === 'acknowledged' && !before.has(request)) request.outcome = 'unanswered'
  }
  const there = new Api(other)
  const { events } = await verify(there, load)
  assert.ok(events > 0)
  assert.equal((await there.ingest(load.writers[0]!.stream.key, '{"n":1}')).status, 200)
  await there.createStream()
})

test('a backup that is broken off leaves nothing, and says so', async () => {
  const file = join(files, 'broken.tar')
  const child = spawn(process.execPath, [ENTRY, 'backup', file, '--data', dataDir])
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    text += more
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const hasBegun = () => existsSync(`${file}.partial`)
  await eventually('it has begun', hasBegun, WAIT_MS).finally(() => child.kill('SIGTERM'))
  assert.equal(await ended, 1)
  assert.match(text, /^sluice: SIGTERM: broken off, nothing is left of it/m)
  assert.deepEqual(readdirSync(files), ['sluice.tar'])
})
