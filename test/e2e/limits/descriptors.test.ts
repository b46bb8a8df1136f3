/**
 * Goal: more connections than the service may have descriptors do not stop it: who is connected
 * ingests and reads, both stores go on, and the log says what to do.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { tryReadMainThreadMicros } from '../../../bench/e2e/procfs.ts'
import { head, RawClient } from '../../http/raw-client.ts'
import { Api } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const LIMIT = 300
const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  service = await Service.start({
    dataDir,
    via: ['sh', '-c', `ulimit -n ${LIMIT}; exec "$0" "$@"`],
  })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

test('a crowd of idle connections leaves the others served', async () => {
  const stream = await api.createStream()
  const client = await RawClient.connect(service.port)
  const ingest = async (n: number) => {
    const body = `{"n":${n}}`
    const key = [`X-API-Key: ${stream.key}`, 'Content-Type: application/json']
    client.received = ''
    client.write(head('POST', '/v1/ingest', ...key, `Content-Length: ${body.length}`) + body)
    await client.until(/"accepted":1/)
  }
  await ingest(0)
  const crowd = await Promise.all(
    Array.from({ length: 2 * LIMIT }, () => RawClient.connect(service.port).catch(() => undefined)),
  )
  await sleep(500)
  assert.match(service.output, /short of descriptors.*LimitNOFILE/)
  const cpuBefore = (tryReadMainThreadMicros(service.pid) ?? 0) / 1e6
  for (let n = 1; n <= 20; n++) {
    await ingest(n)
    await sleep(100)
  }
  const cpuSeconds = (tryReadMainThreadMicros(service.pid) ?? 0) / 1e6 - cpuBefore
  assert.ok(cpuSeconds < 1.2, `${cpuSeconds} s of CPU in two, for 20 requests`)
  assert.equal(service.output.match(/short of descriptors/g)?.length, 1, 'told once')
  for (const each of crowd) each?.destroy()
  const deadline = performance.now() + 10_000
  while (!/new connections are taken again/.test(service.output)) {
    assert.ok(performance.now() < deadline, 'there is room again')
    await sleep(50)
  }
  await api.untilCounted(stream.id, 21)
  const { text } = await api.tryRest('/metrics', 'GET')
  assert.match(text, /^ingest_listen_pauses [1-9]/m)
  assert.match(text, /^ingest_listen_paused 0$/m)
  client.destroy()
})
