/**
 * Goal: the life of the process as an operator sees it: starting, stopping under load, restarting,
 * what it prints, what it says about itself, and how it says that it cannot start.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { request } from 'node:https'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { OPTIONS } from '../../src/config.ts'
import { RawClient } from '../http/raw-client.ts'
import { eventually } from '../store/temporary.ts'
import { Api, call, type EventPage, NDJSON_TYPE } from '../support/api.ts'
import { someOf } from '../support/fuzzing.ts'
import { Load } from '../support/load.ts'
import {
  copyTemplate,
  ENTRY,
  makeDataDir,
  removeDataDir,
  Service,
  untilNoneUnder,
} from '../support/service.ts'
import { verify } from '../support/verify.ts'

const OPERATIONS = fileURLToPath(new URL('../../../docs/operations.md', import.meta.url))

describe('one service', () => {
  const dataDir = makeDataDir()
  let service: Service
  let api: Api

  before(async () => {
    const syslog = ['--syslog', 'tcp://127.0.0.1:0?stream=network', '--syslog']
    const args = [...syslog, 'udp://127.0.0.1:0?stream=1']
    service = await Service.start({ dataDir, args })
    api = new Api(service)
  })

  after(async () => {
    await service?.kill()
    await removeDataDir(dataDir)
  })

  test('the token is in its file, for its owner alone, and not in a log', () => {
    assert.ok(service.output.includes(`Admin token: in ${join(dataDir, 'admin-token')}\n`))
    assert.match(service.token, /^lap_/)
    assert.ok(!service.output.includes(service.token))
    assert.equal(statSync(join(dataDir, 'admin-token')).mode & 0o777, 0o600)
    assert.equal(statSync(dataDir).mode & 0o077, 0)
  })

  test('no line of the log has a member twice', () => {
    const lines = service.output.split('\n').filter((line) => line.startsWith('{"'))
    assert.ok(lines.some((line) => /"storePid":\d+.*embedded PostgreSQL is up/.test(line)))
    for (const line of lines) assert.equal(JSON.stringify(JSON.parse(line)), line)
  })

  test('the line it prints to try it works when it is pasted', () => {
    const line = /in another shell:\n {2}(.+)\n/.exec(service.output)?.[1] ?? ''
    for (const shell of ['sh', 'bash']) {
      if (shell !== 'sh') spawnSync('sleep', ['1.1']) // It names its stream after the second.
      const { stdout, stderr, status } = spawnSync(shell, ['-c', line], { encoding: 'utf8' })
      assert.equal(stdout, '{"accepted":1,"rejected":0,"errors":[]}', `${status} ${stderr}`)
    }
  })

  test('a second one on the same data says so and ends with 1', async () => {
    const { code, stderr } = await Service.runToEnd(['--data', dataDir, '--port', '0'])
    assert.equal(code, 1)
    assert.match(stderr, /^sluice: data directory \S+ is in use by process \d+; stop it or use/m)
    assert.ok(stderr.includes(`process ${service.pid};`))
    assert.equal((await call(`${service.url}/readyz`)).status, 200, 'the first one does not mind')
  })

  test('a port in use is told with the way out, and nothing stays behind', async () => {
    const other = makeDataDir()
    copyTemplate(other)
    try {
      const args = ['--data', other, '--port', String(service.port)]
      const { code, stdout, stderr } = await Service.runToEnd(args)
      assert.equal(code, 1)
      assert.match(stderr, /sluice: cannot listen on 127\.0\.0\.1:\d+: another process uses/)
      assert.match(stderr, /choose others with --host and --port \(SLUICE_HOST, SLUICE_PORT\)/)
      assert.doesNotMatch(stdout + stderr, /Starting the stores|is up/, 'before anything starts')
      assert.deepEqual(await untilNoneUnder(other, 2_000), [])
    } finally {
      await removeDataDir(other)
    }
  })

  test('the API describes itself, and needs no credential for it', async () => {
    const { status, text } = await call(`${service.url}/v1/openapi.json`)
    assert.equal(status, 200)
    const json = JSON.parse(text)
    assert.equal(json.openapi, '3.1.0')
    const operations = Object.values(json.paths).flatMap((path) => Object.values(path as object))
    const ids = operations.map(({ operationId }: { operationId: string }) => operationId)
    assert.equal(new Set(ids).size, ids.length, 'no operation has the name of another')
    for (const name of ['ingestJson', 'createStream', 'listEvents', 'gethealthz']) {
      assert.ok(ids.includes(name), name)
    }
  })

  test('healthz, readyz and metrics need no credential', async () => {
    assert.equal((await call(`${service.url}/healthz`)).text, '{"status":"ok"}')
    const ready = await call(`${service.url}/readyz`)
    assert.equal(ready.text, '{"status":"ready","not_ready":{},"degraded":{}}')
    const stream = await api.createStream()
    await api.ingest(stream.key, '{"a":1}\nbad')
    const { text, headers } = await call(`${service.url}/metrics`)
    assert.match(String(headers['content-type']), /^text\/plain/)
    for (const line of [
      /^ingest_build_info\{version="[\d.]+",engine="[^"]+",node="[\d.]+"\} 1$/m,
      /^ingest_requests_total\{surface="native",status="200"\} [1-9]\d*$/m,
      /^ingest_events_accepted_total [1-9]\d*$/m,
      /^ingest_events_rejected_total\{reason="malformed"\} 1$/m,
      /^ingest_commit_groups_total [1-9]\d*$/m,
      /^ingest_in_flight_bytes 0$/m,
      /^ingest_acknowledge_seconds_count\{surface="native"\} [1-9]\d*$/m,
    ]) {
      assert.match(text, line)
    }
    assert.doesNotMatch(text, /NaN/)
  })

  test('metrics are documented and of one style; closed label sets are there at once', async () => {
    const { text } = await call(`${service.url}/metrics`)
    const page = readFileSync(OPERATIONS, 'utf8')
    const metrics = [...text.matchAll(/^# TYPE (ingest_\S+) (\S+)$/gm)]
    assert(metrics.length > 80)
    for (const [, name = '', type] of metrics) {
      assert.match(name, /^ingest_[a-z0-9_]+$/)
      assert.equal(name.endsWith('_total'), type === 'counter', name)
      assert(page.includes(name), `docs/operations.md lacks ${name}`)
      if (/reject|refus|drop/.test(name)) assert.match(text, new RegExp(`${name}{reason="`))
    }
    assert.match(text, /^ingest_refusals_total\{reason="overloaded"\} 0$/m)
    assert.match(text, /^ingest_refusals_total\{reason="plain_text_not_accepted"\} 0$/m)
    assert.match(text, /^ingest_events_rejected_total\{reason="too_deep"\} 0$/m)
    assert.match(text, /^ingest_store_restarts_total\{store="clickhouse"\} 0$/m)
  })

  test('SIGTERM under load: accepted requests are acknowledged, data stays', async (t) => {
    const load = await Load.create(api, ['single', 'ndjson', 'gzip', 'large', 'text', 'idempotent'])
    t.after(() => load.stop())
    load.start()
    await sleep(1_000)
    const [, port, streamId = ''] =
      /"port":(\d+),"stream":(\d+).*is listened/.exec(service.output) ?? []
    const syslog = connect(Number(port), '127.0.0.1').on('error', () => undefined)
    syslog.write(`${'<13>a line\n'.repeat(1_000)}<13>half a line`)
    const unfinished = await RawClient.connect(service.port)
    const { id, key } = await api.createStream()
    const asked = { 'content-type': NDJSON_TYPE, 'idempotency-key': 'before' }
    const first = await api.ingest(key, '{"a":1}\n{"b":', asked)
    unfinished.write(`POST /v1/ingest HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n`)
    unfinished.write('Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{"late"')
    await sleep(200)
    const startedAt = performance.now()
    service.signal('SIGTERM')
    await sleep(300)
    assert.ok(service.isRunning, 'it waits for a request that it has begun')
    unfinished.write(':1}')
    assert.match(await unfinished.until(/"accepted"/), /^HTTP\/1\.1 200 /)
    const exit = await service.exited
    await load.stop()
    assert.deepEqual(exit, { code: 0, signal: null })
    assert.ok(performance.now() - startedAt < 20_000)
    assert.deepEqual(await untilNoneUnder(dataDir, 0), [], 'no store is left')
    service = await Service.start({ dataDir })
    api.url = service.url
    assert.ok(!service.output.includes(service.token))
    await load.settleIdempotent()
    assert.deepEqual((await api.page(id)).events[0]?.payload, { late: 1 })
    const found = await api.rest(`/v1/streams/${id}/search`, 'POST', { query: 'late:1' })
    assert.equal((JSON.parse(found) as EventPage).events.length, 1)
    assert.equal((await api.usage(streamId)).events, 1_001)
    const again = await api.ingest(key, '{"a":1}\n{"b":', asked)
    assert.deepEqual([again.status, again.text], [200, first.text])
    assert.equal((await api.usage(id)).events, 2)
    t.diagnostic(JSON.stringify({ ...load.counts, ...Object.fromEntries(load.statuses) }))
    await verify(api, load)
  })
})

test('on a terminal the first token is shown', async (t) => {
  const dataDir = makeDataDir()
  t.after(() => removeDataDir(dataDir))
  const command = `"${process.execPath}" "${ENTRY}" --data "${dataDir}" --port 0`
  const terminal = spawn('script', ['-q', '-e', '-c', command, '/dev/null'])
  const ended = new Promise((resolve) => terminal.once('close', resolve))
  terminal.once('error', () => undefined) // There is none: its pid says so.
  if (terminal.pid === undefined) return t.skip('there is no program `script` here')
  let output = ''
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await eventually('it listens', () => / listens on /.test(output), 60_000)
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  assert.ok(output.includes(`First admin token: ${token}\r\n`))
  process.kill(Number(readFileSync(join(dataDir, 'sluice.pid'), 'utf8')), 'SIGTERM')
  await ended
})

describe('how it is told', () => {
  test('--help lists every option with its variable', async () => {
    const { code, stdout } = await Service.runToEnd(['--help'])
    assert.equal(code, 0)
    for (const { flag, env } of Object.values(OPTIONS)) {
      assert.ok(stdout.includes(`  ${flag} <`) && stdout.includes(env), flag)
    }
  })

  test('--version', async () => {
    const { code, stdout } = await Service.runToEnd(['--version'])
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    assert.deepEqual([code, stdout], [0, `${version}\n`])
  })

  const BAD = [
    [['--no-such-option', '1'], {}, /--no-such-option/],
    [['--port', '70000'], {}, /--port .*70000.* 0 to 65535/],
    [['--port'], {}, /--port needs a value/],
    [[], { SLUICE_WORKERS: '0' }, /SLUICE_WORKERS.*"0"/],
    [['--tls-cert', '/no/such/file'], {}, /--tls-cert/],
    [['--in-flight-bytes-max', '1'], {}, /--in-flight-bytes-max.*20971520 or more/],
    [['--postgres-url', 'mysql://u:secret@h/d'], {}, /--postgres-url/],
  ] as const

  test('a setting that cannot be used ends it with 2 and is named', async () => {
    for (const [args, env, pattern] of someOf(BAD)) {
      const { code, stderr } = await Service.runToEnd(args, env)
      assert.equal(code, 2, stderr)
      assert.match(stderr, pattern)
      assert.doesNotMatch(stderr, /secret|at file:/)
    }
  })

  test('a data directory that cannot be made, a store that is not there: 1, in words', async () => {
    const { code, stderr } = await Service.runToEnd(['--data', '/dev/null/data', '--port', '0'])
    assert.equal(code, 1)
    assert.match(stderr, /^sluice: .*\/dev\/null\/data/m)
    const dataDir = makeDataDir()
    const port = await unusedPort()
    const url = `postgres://user:secret@127.0.0.1:${port}/none`
    const away = await Service.runToEnd(['--data', dataDir, '--port', '0', '--postgres-url', url])
    assert.equal(away.code, 1)
    assert.match(away.stderr, /^sluice: postgresql: .*ECONNREFUSED/m)
    assert.doesNotMatch(away.stderr + away.stdout, /secret/)
    assert.deepEqual(await untilNoneUnder(dataDir, 2_000), [])
    await removeDataDir(dataDir)
  })
})

function unusedPort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

test('TLS: https only, with the certificate that was given', async () => {
  const dataDir = makeDataDir()
  mkdirSync(join(dataDir, 'tls'))
  const [cert, key] = [join(dataDir, 'tls', 'cert.pem'), join(dataDir, 'tls', 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const files = ['-nodes', '-keyout', key, '-out', cert, '-days', '2']
  assert.equal(spawnSync('openssl', [...made, ...files, ...subject]).status, 0, 'openssl is there')
  const service = await Service.start({ dataDir, args: ['--tls-cert', cert, '--tls-key', key] })
  try {
    assert.match(service.url, /^https:/)
    const status = await new Promise((resolve, reject) => {
      const options = { ca: readFileSync(cert) }
      const get = request(`${service.url}/readyz`, options, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      get.on('error', reject)
      get.end()
    })
    assert.equal(status, 200)
    await assert.rejects(call(service.url.replace('https:', 'http:')))
    const line = /in another shell:\n {2}(.+)\n/.exec(service.output)?.[1] ?? ''
    const { stdout } = spawnSync('sh', ['-c', line], { encoding: 'utf8' })
    assert.equal(stdout, '{"accepted":1,"rejected":0,"errors":[]}')
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
  } finally {
    await service.kill()
    await removeDataDir(dataDir)
  }
})
