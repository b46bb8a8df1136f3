/** Syslog as listeners hand it to workers, and the same content as JSON lines. */
import { Random } from './random.ts'

const FIRST_MS = 1_763_719_200_000
const PEER = '10.20.0.17'
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
const TAGS = ['sshd', 'postfix/smtpd', 'systemd', 'CRON', 'kernel', 'nginx', 'dovecot', 'haproxy']
const SEVERITIES = ['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug']
const DAEMON = 3

interface Sent {
  readonly severity: number
  readonly ms: number
  readonly host: string
  readonly app: string
  readonly procid: string
  readonly message: string
}

/** `lines` are the messages' texts. */
function sentOf(lines: readonly string[]): Sent[] {
  const random = new Random(7)
  return lines.map((message, i) => ({
    severity: 3 + random.below(4),
    ms: FIRST_MS + i * 13,
    host: `web-${random.below(20)}`,
    app: TAGS[random.below(TAGS.length)]!,
    procid: String(300 + random.below(30_000)),
    message,
  }))
}

/** By RFC 3164, as rsyslog and most others forward it. */
export function rfc3164Records(lines: readonly string[]): Buffer {
  return records(
    sentOf(lines).map(({ severity, ms, host, app, procid, message }) => {
      const time = new Date(ms)
      const month = MONTHS[time.getUTCMonth()]!
      const day = String(time.getUTCDate()).padStart(2)
      const clock = time.toISOString().slice(11, 19)
      const header = `${month} ${day} ${clock}`
      return `<${DAEMON * 8 + severity}>${header} ${host} ${app}[${procid}]: ${message}`
    }),
  )
}

/** By RFC 5424, with structured data. */
export function rfc5424Records(lines: readonly string[]): Buffer {
  return records(
    sentOf(lines).map(({ severity, ms, host, app, procid, message }, i) => {
      const time = new Date(ms).toISOString()
      const data = `[origin software="rsyslogd" swVersion="8.2302.0"][meta sequenceId="${i}"]`
      return `<${DAEMON * 8 + severity}>1 ${time} ${host} ${app} ${procid} - ${data} ${message}`
    }),
  )
}

/** What the first of these become, with the time in a field, as a sender of ours would write it. */
export function sameAsRfc3164(lines: readonly string[]): Buffer {
  return jsonLines(
    sentOf(lines).map(({ ms, message, ...sent }) => ({
      timestamp: new Date(Math.floor(ms / 1000) * 1000).toISOString(),
      ...headOf(sent),
      message,
      timestamp_assumed: { year: new Date(ms).getUTCFullYear(), zone: 'UTC' },
      peer: PEER,
    })),
  )
}

export function sameAsRfc5424(lines: readonly string[]): Buffer {
  return jsonLines(
    sentOf(lines).map(({ ms, message, ...sent }, i) => ({
      timestamp: new Date(ms).toISOString(),
      ...headOf(sent),
      message,
      sd: {
        origin: { software: 'rsyslogd', swVersion: '8.2302.0' },
        meta: { sequenceId: String(i) },
      },
      peer: PEER,
    })),
  )
}

function headOf({ severity, host, app, procid }: Omit<Sent, 'ms' | 'message'>): object {
  const codes = { facility_code: DAEMON, severity: SEVERITIES[severity], severity_code: severity }
  return { facility: 'daemon', ...codes, host, app, procid }
}

function jsonLines(events: readonly object[]): Buffer {
  return Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''))
}

function records(messages: readonly string[]): Buffer {
  const peer = Buffer.from(PEER)
  return Buffer.concat(
    messages.map((message) => {
      const text = Buffer.from(message)
      const head = Buffer.alloc(6)
      head.writeUInt32LE(2 + peer.length + text.length)
      head[5] = peer.length
      return Buffer.concat([head, peer, text])
    }),
  )
}
