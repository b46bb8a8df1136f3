/**
 * Sends syslog, which k6 cannot, and says what became of it. Needs nothing but Node.
 *
 *   node load-tests/syslog.mjs tcp://127.0.0.1:5514 --connections 4 --seconds 10
 *   node load-tests/syslog.mjs udp://127.0.0.1:5514 --rate 50000
 *   BASE_URL=http://127.0.0.1:4800 node load-tests/syslog.mjs tls://127.0.0.1:6514 --octets
 *
 * With BASE_URL it compares what was sent with what the service read, stored and lost, by its
 * `/metrics`, and ends with 99 when that is not the same: nobody else may send meanwhile.
 */
import { createSocket } from 'node:dgram'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { parseArgs } from 'node:util'

const MESSAGES = 1_000
const EXIT_THRESHOLD = 99
const STORED_SECONDS_MAX = 60
const PROGRAMS = ['sshd', 'postfix/smtpd', 'nginx', 'kernel', 'CRON', 'app']
/** Datagrams at a stretch, when there is a rate: as the timer wakes it. */
const TICK_MS = 2

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    connections: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '10' },
    /** Messages a second of all connections; 0: as fast as they are taken. */
    rate: { type: 'string', default: '0' },
    /** Octet counting in place of line feeds. */
    octets: { type: 'boolean', default: false },
  },
})
const target = new URL(positionals[0] ?? '')
const [connections, seconds, rate] = ['connections', 'seconds', 'rate'].map((name) => {
  return Number(values[name])
})

/** RFC 5424 with structured data, about 200 bytes, a word of each its own. */
function makeMessage(i) {
  const program = PROGRAMS[i % PROGRAMS.length]
  const text = `Accepted key of user${i % 97} from 10.0.${i % 251}.${i % 241} port ${40_000 + i}`
  const data = `[origin@32473 ip="10.1.${i % 199}.7" software="${program}"]`
  const time = `2026-11-27T10:${String(i % 60).padStart(2, '0')}:07.${String(i).padStart(6, '0')}Z`
  const head = `<${8 * (i % 24) + (i % 8)}>1 ${time} host${i % 50} ${program} ${1_000 + i}`
  return `${head} - ${data} ${text}`
}

const messages = Array.from({ length: MESSAGES }, (_, i) => makeMessage(i))

async function sendStream(share) {
  const { hostname: host, port } = target
  const where = { host, port: Number(port) }
  const isTls = target.protocol === 'tls:'
  const socket = isTls ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where)
  await new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once(isTls ? 'secureConnect' : 'connect', resolve)
  })
  const framed = messages.map((text) => (values.octets ? `${text.length} ${text}` : `${text}\n`))
  const size = share > 0 ? Math.max(1, Math.floor(share / 100)) : MESSAGES
  const block = Buffer.from(framed.slice(0, size).join(''))
  const count = Math.min(size, MESSAGES)
  const beganMs = performance.now()
  let sent = 0
  for (;;) {
    const elapsedMs = performance.now() - beganMs
    if (elapsedMs >= seconds * 1_000) break
    if (share > 0 && sent >= (share * elapsedMs) / 1_000) await sleep(TICK_MS)
    else {
      sent += count
      if (!socket.write(block)) await new Promise((resolve) => socket.once('drain', resolve))
    }
  }
  await new Promise((resolve) => socket.end(resolve))
  return sent
}

async function sendDatagrams(share) {
  const socket = createSocket(target.hostname.startsWith('[') ? 'udp6' : 'udp4')
  const datagrams = messages.map((text) => Buffer.from(text))
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const port = Number(target.port)
  await new Promise((resolve) => socket.connect(port, host, resolve))
  const beganMs = performance.now()
  let sent = 0
  let failed = 0
  const onSent = (error) => {
    if (error !== null && error !== undefined) failed++
  }
  for (;;) {
    const elapsedMs = performance.now() - beganMs
    if (elapsedMs >= seconds * 1_000) break
    const due = share > 0 ? Math.floor((share * elapsedMs) / 1_000) : sent + MESSAGES
    while (sent < due) socket.send(datagrams[sent++ % MESSAGES], onSent)
    await (share > 0 ? sleep(TICK_MS) : new Promise((resolve) => setImmediate(resolve)))
  }
  await sleep(500)
  socket.close()
  return sent - failed
}

/** Sums of the metrics by their names. */
async function readMetrics() {
  const { BASE_URL: url } = process.env
  if (url === undefined) return undefined
  const sums = { read: 0, stored: 0, lost: 0, waiting: 0, cpu: 0 }
  const names = {
    ingest_syslog_messages_total: 'read',
    ingest_events_accepted_total: 'stored',
    ingest_syslog_dropped_total: 'lost',
    ingest_syslog_waiting_bytes: 'waiting',
    process_cpu_seconds_total: 'cpu',
  }
  for (const line of (await (await fetch(`${url}/metrics`)).text()).split('\n')) {
    const [, name, value] = /^(\w+)(?:\{[^}]*\})? (\S+)$/.exec(line) ?? []
    if (names[name] !== undefined) sums[names[name]] += Number(value)
  }
  return sums
}

const before = await readMetrics()
const send = target.protocol === 'udp:' ? sendDatagrams : sendStream
const beganMs = performance.now()
const counts = await Promise.all(
  Array.from({ length: connections }, () => send(rate / connections)),
)
const sent = counts.reduce((sum, count) => sum + count, 0)
let tookMs = performance.now() - beganMs
let after = await readMetrics()
for (let i = 0; after !== undefined && i < STORED_SECONDS_MAX * 20; i++) {
  if (after.waiting === 0 && after.read - before.read + after.lost - before.lost >= sent) break
  await sleep(50)
  after = await readMetrics()
}
if (target.protocol !== 'udp:') tookMs = performance.now() - beganMs
const perSecond = Math.round((sent * 1_000) / tookMs)
console.log(`sent    ${sent}, ${perSecond} a second${after ? ' until they were stored' : ''}`)
if (after !== undefined) {
  const [read, stored, lost] = ['read', 'stored', 'lost'].map((name) => after[name] - before[name])
  console.log(`read    ${read}\nstored  ${stored}\nlost    ${lost} (told)`)
  const micros = ((after.cpu - before.cpu) * 1e6) / stored
  console.log(`CPU     ${micros.toFixed(2)} µs a message, of Node, without the stores`)
  if (stored !== sent) process.exitCode = EXIT_THRESHOLD
}
