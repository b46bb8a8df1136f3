/** What is counted of syslog beside what ingest counts of its batches. */
import type { SyslogTransport } from '../../../syslog-address.ts'
import type { Metrics, Tally } from '../../../telemetry/metrics.ts'
import type { ConnectionPlaces } from './connection-places.ts'

const TRANSPORTS = ['udp', 'tcp', 'tls'] as const satisfies readonly SyslogTransport[]
const DROP_REASONS = ['queue_full', 'kernel', 'refused', 'connection'] as const
const REFUSED_REASONS = ['connections', 'address_connections', 'handshake', 'halves'] as const

/** Counted for each message: read when it is scraped. */
export interface MessageCounts {
  messages: number
  cut: number
}

/** One listener, as it is looked at. */
export interface WatchedListener {
  readonly waitingBytes: number
  /** Of UDP, what the kernel gives. */
  readonly receiveBufferBytes: number | undefined
}

export interface SyslogCounts {
  readonly of: Readonly<Record<SyslogTransport, MessageCounts>>
  /** `connection`: what was kept of a connection that was closed. */
  readonly dropped: Tally<(typeof DROP_REASONS)[number]>
  readonly refused: Tally<(typeof REFUSED_REASONS)[number]>
}

export function syslogCounts(
  metrics: Metrics,
  places: ConnectionPlaces,
  listeners: readonly WatchedListener[],
): SyslogCounts {
  const zero = () => ({ messages: 0, cut: 0 })
  const of = { udp: zero(), tcp: zero(), tls: zero() }
  const messages = ['ingest_syslog_messages_total', 'Messages of syslog that were read'] as const
  metrics.watch('counter', messages, ['transport'], function* () {
    for (const transport of TRANSPORTS) yield [{ transport }, of[transport].messages]
  })
  const cut = ['ingest_syslog_cut_total', 'Messages that were too long and were cut'] as const
  metrics.watch('counter', cut, ['transport'], function* () {
    for (const transport of TRANSPORTS) yield [{ transport }, of[transport].cut]
  })
  metrics.gauge('ingest_syslog_connections', 'Open connections of syslog', () => places.size)
  metrics.gauge('ingest_syslog_waiting_bytes', 'Messages read and not committed', () => {
    return listeners.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0)
  })
  metrics.gauge('ingest_syslog_receive_buffer_bytes', 'The smallest that UDP was given', () => {
    const sizes = listeners.flatMap(({ receiveBufferBytes: bytes }) => bytes ?? [])
    return sizes.length === 0 ? 0 : Math.min(...sizes)
  })
  return {
    of,
    dropped: metrics.tally(
      'ingest_syslog_dropped_total',
      'Messages that were lost: nobody could be told',
      'reason',
      DROP_REASONS,
    ),
    refused: metrics.tally(
      'ingest_syslog_connections_refused_total',
      'Connections that were closed, by the bound that they met',
      'reason',
      REFUSED_REASONS,
    ),
  }
}
