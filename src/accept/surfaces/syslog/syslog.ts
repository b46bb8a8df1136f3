/**
 * Syslog over UDP, TCP and TLS: listeners that `--syslog` names, each of a stream. Syslog knows no
 * keys, so who reaches a listener may send to its stream; over TLS it can ask for certificates.
 *
 * A listener that names a stream which does not exist makes it: a service can be set up by its
 * options alone. An id must exist.
 */
import { cannotListen, failureOf } from '../../../http/probe-port.ts'
import { type Stream, type StreamId, tryParseRowId } from '../../../model/stream.ts'
import { parseSyslogAddresses, type SyslogAddress } from '../../../syslog-address.ts'
import { reasonOf } from '../../../telemetry/log.ts'
import type { Surface, SurfaceParts } from '../surface.ts'
import { ConnectionPlaces } from './connection-places.ts'
import { DropTeller } from './drop-teller.ts'
import type { Listener, ListenerParts } from './listener-parts.ts'
import { syslogCounts } from './syslog-counts.ts'
import { SyslogStream } from './syslog-stream.ts'
import { TcpListener } from './tcp-listener.ts'
import { UdpListener } from './udp-listener.ts'

const HANDSHAKES_LOG_MS = 60_000
const OPTION = '--syslog (SLUICE_SYSLOG)'

export const syslogSurface: Surface = async (parts) => {
  const { config, metrics, log } = parts
  const listeners: Listener[] = []
  const places = new ConnectionPlaces()
  const counts = syslogCounts(metrics, places, listeners)
  if (config.syslog === undefined) return { routes: [] }
  const stop = async () => void (await Promise.all(listeners.map((listener) => listener.stop())))
  try {
    for (const address of parseSyslogAddresses(config.syslog)) {
      const stream = await streamOf(address, parts)
      const listener = createListener(partsOf(address, stream, counts, parts), places, config.tls)
      const port = await listening(listener, address)
      listeners.push(listener)
      const { transport, host } = address
      const { receiveBufferBytes } = listener
      const fields = { transport, host, port, stream: stream.streamId, receiveBufferBytes }
      log.info(fields, 'syslog is listened for')
    }
  } catch (cause) {
    await stop()
    throw cause
  }
  return { routes: [], stop }
}

async function streamOf({ stream }: SyslogAddress, parts: SurfaceParts): Promise<Stream> {
  const streamId = tryParseRowId(stream)
  if (streamId === undefined) {
    return await parts.findOrMakeStream(stream).catch((cause: unknown) => {
      throw new Error(`${OPTION} names a stream: ${reasonOf(cause)}`, { cause })
    })
  }
  const found = await parts.findStream(streamId as StreamId)
  if (found === undefined) throw new Error(`there is no stream ${streamId}; ${OPTION} names it`)
  return found
}

function partsOf(
  address: SyslogAddress,
  stream: Stream,
  counts: ListenerParts['counts'],
  { deps, config, log, findStream }: SurfaceParts,
): ListenerParts {
  const known = new SyslogStream(stream, findStream)
  const { streamId } = stream
  const listener = `${address.transport}://${address.host}:${address.port}`
  return {
    address,
    counts,
    teller: new DropTeller({ meter: deps.meter, log, listener, streamId }),
    // A stopping service refuses what is new; what was read here is not.
    queue: { deps: { ...deps, isStopping: () => false }, sender: () => known.sender() },
    drainMs: config.drainTimeoutMs,
    onHandshakeFailed: thinned((cause) => {
      log.warn({ listener, reason: reasonOf(cause) }, 'TLS handshakes of syslog fail')
    }),
    onGone: () => {
      const fields = { listener, stream: streamId }
      log.error(fields, 'a syslog listener is closed: its stream is deleted')
    },
  }
}

function createListener(
  parts: ListenerParts,
  places: ConnectionPlaces,
  tls: SurfaceParts['config']['tls'],
): Listener {
  if (parts.address.transport === 'udp') return new UdpListener(parts)
  try {
    return new TcpListener(parts, places, tls)
  } catch (cause) {
    throw new Error(`the certificates of ${OPTION} cannot be used: ${reasonOf(cause)}`, { cause })
  }
}

async function listening(listener: Listener, { host, port }: SyslogAddress): Promise<number> {
  try {
    return await listener.listen()
  } catch (cause) {
    throw cannotListen(failureOf(host, port, cause), OPTION)
  }
}

/** Once a minute at most. */
function thinned(tell: (cause: Error) => void): (cause: Error) => void {
  let toldAtMs = Number.NEGATIVE_INFINITY
  return (cause) => {
    if (performance.now() - toldAtMs < HANDSHAKES_LOG_MS) return
    toldAtMs = performance.now()
    tell(cause)
  }
}
