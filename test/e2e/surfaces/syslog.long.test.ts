/**
 * Goal: logger, rsyslog and syslog-ng send over UDP, TCP and TLS, configured as
 * docs/collectors/syslog.md says; what is logged while the service is away comes when it is back.
 * Method: the programs themselves, with configurations and directories of their own. One that is
 * not there is skipped, and told. RSYSLOGD and RSYSLOG_MODULES say where an rsyslog lies that is
 * not installed.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const WAIT_MS_MAX = 30_000
const { RSYSLOGD: rsyslogd = 'rsyslogd', RSYSLOG_MODULES: modules } = process.env
const dataDir = makeDataDir()
const files = `${dataDir}-files`
const file = (name: string) => join(files, name)
const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
const ports = { tcp: 0, udp: 0, tls: 0 }
let service: Service
let api: Api
let children: ChildProcess[] = []

function missing(program: string, ...args: string[]): string | false {
  return spawnSync(program, args).error === undefined ? false : `${program} is not there`
}

function makeCertificates(): void {
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const ca = ['-keyout', file('ca.key'), '-out', file('ca.pem')]
  openssl('req', '-x509', ...ec, '-subj', '/CN=ca', '-days', '2', ...ca)
  writeFileSync(file('san'), 'subjectAltName=DNS:localhost,IP:127.0.0.1')
  for (const name of ['server', 'client']) {
    const out = ['-keyout', file(`${name}.key`), '-out', file(`${name}.csr`)]
    openssl('req', ...ec, '-subj', '/CN=localhost', ...out)
    const by = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial']
    const made = ['-days', '2', '-extfile', file('san'), '-out', file(`${name}.pem`)]
    openssl('x509', '-req', '-in', file(`${name}.csr`), ...by, ...made)
  }
}

async function start(): Promise<void> {
  const certificate = `cert=${file('server.pem')}&key=${file('server.key')}&ca=${file('ca.pem')}`
  const args = [
    ...['--syslog', `udp://127.0.0.1:${ports.udp}?stream=datagrams`],
    ...['--syslog', `tcp://127.0.0.1:${ports.tcp}?stream=connections`],
    ...['--syslog', `tls://127.0.0.1:${ports.tls}?stream=secure&${certificate}`],
  ]
  service = await Service.start({ dataDir, args })
  for (const [, transport, port] of service.output.matchAll(
    /"transport":"(\w+)".*?"port":(\d+)/g,
  )) {
    ports[transport as keyof typeof ports] = Number(port)
  }
  api = new Api(service)
}

before(async () => {
  mkdirSync(files)
  makeCertificates()
  await start()
})

after(async () => {
  await service?.kill()
  await removeDataDir(files)
  await removeDataDir(dataDir)
})

/** How often each of these texts is in the stream of the transport, at the end of a message. */
async function countOf(transport: keyof typeof ports, texts: readonly string[]): Promise<number[]> {
  const { streams } = JSON.parse(await api.rest('/v1/streams')) as {
    readonly streams: readonly { readonly id: string; readonly name: string }[]
  }
  const name = { udp: 'datagrams', tcp: 'connections', tls: 'secure' }[transport]
  const { id } = streams.find((stream) => stream.name === name)!
  const messages = (await api.events(id)).map(({ payload }) => String(payload.message))
  return texts.map((text) => messages.filter((message) => message.endsWith(text)).length)
}

/** Waits until each is there once. */
async function untilStored(transport: keyof typeof ports, texts: readonly string[]): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX
  for (;;) {
    const counts = await countOf(transport, texts)
    if (counts.every((count) => count === 1)) return
    const wrong = texts.flatMap((text, i) => (counts[i] === 1 ? [] : `${counts[i]} of ${text}`))
    assert.ok(performance.now() < deadline, `${transport}: ${wrong.slice(0, 5)}`)
    await sleep(200)
  }
}

function textsOf(what: string, count = 50): string[] {
  return Array.from({ length: count }, (_, n) => `${what} "${n}" \\ é€`)
}

test('logger', { skip: missing('logger', '--version') }, async () => {
  const udp = ['-n', '127.0.0.1', '-P', String(ports.udp), '-d', '-t', 'app']
  const tcp = ['-n', '127.0.0.1', '-P', String(ports.tcp), '-T', '-t', 'app']
  execFileSync('logger', [...udp, '--rfc3164', 'old, datagram'])
  execFileSync('logger', [...udp, '--rfc5424', 'new, datagram é'])
  execFileSync('logger', [...tcp, '--rfc3164', 'old, line'])
  execFileSync('logger', [...tcp, '--rfc5424', '--octet-count', 'new, counted é'])
  await untilStored('udp', ['old, datagram', 'new, datagram é'])
  await untilStored('tcp', ['old, line', 'new, counted é'])
})

describe('a daemon', () => {
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    children = []
  })

  const RSYSLOG = () => `
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="${file('log.sock')}")
global(workDirectory="${files}" defaultNetstreamDriverCAFile="${file('ca.pem')}"
  defaultNetstreamDriverCertFile="${file('client.pem')}"
  defaultNetstreamDriverKeyFile="${file('client.key')}")
action(type="omfwd" target="127.0.0.1" port="${ports.udp}" protocol="udp"
  template="RSYSLOG_SyslogProtocol23Format")
action(type="omfwd" target="127.0.0.1" port="${ports.tcp}" protocol="tcp"
  TCP_Framing="octet-counted" template="RSYSLOG_SyslogProtocol23Format"
  queue.type="LinkedList" queue.filename="sluice" queue.saveOnShutdown="on"
  action.resumeRetryCount="-1" action.resumeInterval="1")
action(type="omfwd" target="127.0.0.1" port="${ports.tls}" protocol="tcp"
  TCP_Framing="octet-counted" template="RSYSLOG_SyslogProtocol23Format"
  StreamDriver="ossl" StreamDriverMode="1" StreamDriverAuthMode="x509/name"
  StreamDriverPermittedPeers="localhost"
  queue.type="LinkedList" queue.filename="sluice-tls" queue.saveOnShutdown="on"
  action.resumeRetryCount="-1" action.resumeInterval="1")
`

  const noRsyslog = missing(rsyslogd, '-v')
  test('rsyslog', { skip: noRsyslog || missing('logger', '--version') }, async () => {
    writeFileSync(file('rsyslog.conf'), RSYSLOG())
    const load = modules === undefined ? [] : ['-M', modules]
    const config = ['-n', ...load, '-f', file('rsyslog.conf'), '-i', file('rsyslog.pid')]
    children.push(spawn(rsyslogd, config, { stdio: 'ignore' }))
    await untilListens(file('log.sock'))
    const say = (texts: readonly string[]) => {
      const input = `${texts.join('\n')}\n`
      execFileSync('logger', ['-u', file('log.sock'), '-t', 'app'], { input })
    }
    const first = textsOf('by rsyslog')
    say(first)
    for (const transport of ['udp', 'tcp', 'tls'] as const) await untilStored(transport, first)
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    const meanwhile = textsOf('by rsyslog meanwhile')
    say(meanwhile)
    await start()
    const later = textsOf('by rsyslog later')
    say(later)
    await untilStored('tcp', [...first, ...meanwhile, ...later])
    // Over TLS it writes some more to a connection that has ended, and never hears of it.
    await untilStored('tls', [...first, ...later])
  })

  const SYSLOG_NG = () => `
@version: 3.38
source s_in { file("${file('in.log')}" follow-freq(0.2) flags(no-parse)); };
destination d_udp { syslog("127.0.0.1" port(${ports.udp}) transport("udp")); };
destination d_tcp { syslog("127.0.0.1" port(${ports.tcp}) transport("tcp") time-reopen(1)
  disk-buffer(reliable(yes) disk-buf-size(10Mb) mem-buf-size(1Mb) dir("${files}"))); };
destination d_tls { syslog("127.0.0.1" port(${ports.tls}) transport("tls") time-reopen(1)
  tls(ca-file("${file('ca.pem')}") cert-file("${file('client.pem')}")
    key-file("${file('client.key')}") peer-verify(required-trusted))); };
log { source(s_in); destination(d_udp); destination(d_tcp); destination(d_tls);
  flags(flow-control); };
`

  test('syslog-ng', { skip: missing('syslog-ng', '--version') }, async () => {
    writeFileSync(file('syslog-ng.conf'), SYSLOG_NG())
    const first = textsOf('by syslog-ng')
    appendFileSync(file('in.log'), `${first.join('\n')}\n`)
    const own = ['-p', file('ng.pid'), '-R', file('ng.persist'), '-c', file('ng.ctl'), '--no-caps']
    const config = ['-F', '-f', file('syslog-ng.conf'), ...own]
    children.push(spawn('syslog-ng', config, { stdio: 'ignore' }))
    for (const transport of ['udp', 'tcp', 'tls'] as const) await untilStored(transport, first)
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    const meanwhile = textsOf('by syslog-ng meanwhile')
    appendFileSync(file('in.log'), `${meanwhile.join('\n')}\n`)
    await sleep(1_000)
    await start()
    await untilStored('tcp', [...first, ...meanwhile])
  })
})

async function untilListens(path: string): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX
  for (;;) {
    const probe = spawnSync('test', ['-S', path])
    if (probe.status === 0) return
    assert.ok(performance.now() < deadline, `${path} is not there`)
    await sleep(50)
  }
}

test('what needs a certificate takes nothing without one', async () => {
  const socket = createConnection(ports.tls, '127.0.0.1').on('error', () => undefined)
  socket.write('<13>without TLS\n')
  const closed = once(socket, 'close')
  socket.resume()
  await closed
  assert.deepEqual(await countOf('tls', ['without TLS']), [0])
})
