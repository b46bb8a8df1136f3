/**
 * Goal: the configurations of `docs/collectors/` work as they stand there.
 * Method: each is taken from its page, gets this test's address and key, and is run; what it sent
 * is read back. A program that is not there is said to be missing, with how to get it.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../store/temporary.ts'
import { Api, call, JSON_TYPE, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { pythonWith } from './python.ts'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const COUNT = 300
const dataDir = makeDataDir()
const directory = mkdtempSync(join(tmpdir(), 'sluice-pages-'))
const running = new Set<ChildProcess>()
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir, args: ['--otlp-grpc-port', '0'] })
  api = new Api(service)
})

after(async () => {
  for (const child of running) child.kill('SIGKILL')
  await service?.stop()
  await removeDataDir(dataDir)
  rmSync(directory, { recursive: true, force: true })
})

/** The page's blocks of a language, with the address of this test's service and a key of it. */
function snippets(page: string, language: string, { key }: Stream): string[] {
  const text = readFileSync(join(ROOT, 'docs/collectors', page), 'utf8')
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))
  const { host } = new URL(service.url)
  return [...blocks].map(([, block = '']) => {
    return block
      .replaceAll('YOUR_KEY', key)
      .replaceAll('localhost:4800', host)
      .replaceAll('localhost:4317', new URL(service.grpcUrl).host)
      .replace(/(port["=: ]+)4800/, `$1${service.port}`)
      .replace('host="localhost"', 'host="127.0.0.1"')
  })
}

/** Why a program cannot be run; undefined where it can. */
function whyMissing(program: string, how: string): string | undefined {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return undefined
  } catch {
    return `${program} is not installed: ${how}`
  }
}

function start(program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { stdio: 'ignore' })
  running.add(child)
  return child
}

async function stored(stream: Stream, count: number): Promise<readonly object[]> {
  await eventually('stored', async () => (await api.usage(stream.id)).events >= count)
  const events = await api.events(stream.id)
  assert.equal(events.length, count)
  return events.map(({ payload }) => payload)
}

/** Lines of syslog to a port of this machine, once somebody listens there. */
async function sendSyslog(port: number): Promise<void> {
  let socket = new Socket()
  await eventually('somebody listens', async () => {
    socket = connect(port, '127.0.0.1')
    return await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
  })
  for (let n = 0; n < COUNT; n++) {
    socket.write(`<12>Nov 27 12:00:00 host-1 shop[7]: order ${n} "é" \\ done\n`)
  }
  socket.end()
}

function assertOrders(payloads: readonly object[]): void {
  const messages = payloads.map((payload) => (payload as { message: string }).message.trim())
  const expected = Array.from({ length: COUNT }, (_, n) => `order ${n} "é" \\ done`)
  assert.deepEqual(messages.toSorted(), expected.toSorted())
}

test('rsyslog.md', async (t) => {
  const program = process.env.RSYSLOGD ?? 'rsyslogd'
  const why = whyMissing(program, 'apt-get install rsyslog rsyslog-elasticsearch, or RSYSLOGD')
  if (why !== undefined) return t.skip(why)
  const stream = await api.createStream()
  const [config] = snippets('rsyslog.md', '', stream)
  const port = 20_000 + (process.pid % 10_000)
  const file = join(directory, 'rsyslog.conf')
  const input = `module(load="imtcp")\ninput(type="imtcp" address="127.0.0.1" port="${port}")`
  const own = config!.replace('/var/log/sluice-errors.json', join(directory, 'errors.json'))
  writeFileSync(file, `global(workDirectory="${directory}")\n${input}\n${own}`)
  start(program, ['-n', '-f', file, '-i', join(directory, 'rsyslog.pid')])
  await sendSyslog(port)
  assertOrders(await stored(stream, COUNT))
})

test('syslog-ng.md', async (t) => {
  const how = 'apt-get install syslog-ng-core syslog-ng-mod-http'
  const why = whyMissing('syslog-ng', how)
  if (why !== undefined) return t.skip(why)
  const stream = await api.createStream()
  const [config] = snippets('syslog-ng.md', '', stream)
  const port = 30_000 + (process.pid % 10_000)
  const source = `source s_local { network(ip("127.0.0.1") port(${port})); };`
  const file = join(directory, 'syslog-ng.conf')
  const own = config!.replace('disk-buffer(', `disk-buffer(dir("${directory}") `)
  writeFileSync(file, own.replace(/^source s_local .*$/m, source))
  const at = (name: string) => join(directory, name)
  const places = ['-R', at('ng.persist'), '-c', at('ng.ctl'), '-p', at('ng.pid')]
  start('syslog-ng', ['-F', '-f', file, ...places])
  await sendSyslog(port)
  assertOrders(await stored(stream, COUNT))
})

for (const [at, exporter] of ['otlphttp', 'otlp'].entries()) {
  test(`otel-collector.md, ${exporter}`, async (t) => {
    const program = process.env.OTELCOL ?? 'otelcol'
    const how = 'bench/README.md, "Beside others", says how to build one; or name it in OTELCOL'
    const why = whyMissing(program, how)
    if (why !== undefined) return t.skip(why)
    const stream = await api.createStream()
    const [whole, grpc] = snippets('otel-collector.md', 'yaml', stream)
    const port = 40_000 + 2 * (process.pid % 10_000) + at
    let config = whole!
      .replace(/^ *grpc: .*\n/m, '')
      .replace('127.0.0.1:4318', `127.0.0.1:${port}`)
      .replace('service:\n', 'service:\n  telemetry: { metrics: { level: none } }\n')
    if (exporter === 'otlp') {
      config = config.replace(/^exporters:\n(?: .*\n)+/m, grpc!).replace('[otlphttp]', '[otlp]')
    }
    const file = join(directory, `${exporter}.yaml`)
    writeFileSync(file, config)
    start(program, ['--config', file])
    const logRecords = Array.from({ length: COUNT }, (_, n) => {
      return { body: { stringValue: `order ${n} "é" \\ done` } }
    })
    const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
    const post = { method: 'POST', headers: { 'content-type': JSON_TYPE }, body }
    await eventually('taken', async () => {
      return (await call(`http://127.0.0.1:${port}/v1/logs`, post)).status === 200
    })
    const payloads = await stored(stream, COUNT)
    assertOrders(payloads.map((payload) => ({ message: (payload as { body: string }).body })))
  })
}

for (const [page, index, requirements, count] of [
  ['python.md', 0, ['opentelemetry-sdk==1.45.2', 'opentelemetry-exporter-otlp-proto-http'], 1],
  ['python.md', 1, [], 1],
  ['python.md', 2, ['elasticsearch==9.5.1'], 1_000],
  ['splunk-hec.md', 0, ['splunk-handler==3.0.0'], 1],
] as const) {
  test(`${page}, script ${index + 1}`, async (t) => {
    const python = await pythonWith(t, requirements)
    if (python === undefined) return
    const stream = await api.createStream()
    const script = snippets(page, 'python', stream)[index]!
    await python(`${script}\n${count === 1 ? 'logging.getLogger("shop").info("paid")\n' : ''}`)
    await eventually('stored', async () => (await api.usage(stream.id)).events >= count)
  })
}

for (const [page, index, more] of [
  ['pino.md', 0, ''],
  ['winston.md', 0, 'await transport.flush()'],
  ['loki.md', 0, "winston.createLogger({ transports: [transport] }).info('paid')"],
  ['loki.md', 1, "pino(transport).info('paid')"],
  ['splunk-hec.md', 0, 'logger.flush()'],
] as const) {
  test(`${page}, script ${index + 1} for JavaScript`, async () => {
    const stream = await api.createStream()
    const script = snippets(page, 'js', stream)[index]!
    const type = script.includes('require(') ? 'commonjs' : 'module'
    const child = spawn(process.execPath, [`--input-type=${type}`, '-e', `${script}\n${more}`], {
      cwd: ROOT,
      stdio: 'inherit',
    })
    running.add(child)
    await stored(stream, 1)
    child.kill()
  })
}
