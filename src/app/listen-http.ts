/** The part of the composition root that listens, and stops listening while it must. */

import { DescriptorGuard } from '../http/descriptors.ts'
import type { HttpServer } from '../http/server.ts'
import type { Context } from './context.ts'

const SHORT =
  'the process is short of descriptors: new connections are refused until some are closed; ' +
  'raise its limit of open files (LimitNOFILE in systemd, ulimit -n)'

const TAKEN =
  'new connections are refused: while the port was closed for want of descriptors, somebody else ' +
  'took it; end that process or start this one elsewhere'

/** Resolves with the port. */
export async function listenHttp(
  { config, health, log, metrics, stoppers }: Context,
  server: HttpServer,
): Promise<number> {
  const port = await server.listen(config.host, config.port)
  health.declare('port', 'required')
  health.report('port')
  stoppers.push(() => server.close())
  const guard = await DescriptorGuard.start(server, {
    onShort: (details) => log.warn(details, SHORT),
    onTaken: (reason) => {
      health.report('port', reason)
      log.error({ reason }, TAKEN)
    },
    onAvailable: () => {
      health.report('port')
      log.info('new connections are taken again')
    },
  })
  stoppers.push(() => guard.stop())
  metrics.gauge(
    'ingest_connections',
    'Open connections; 0 where the HTTP engine cannot tell',
    () => server.connections ?? 0,
  )
  metrics.gauge(
    'ingest_reply_bytes',
    'Large answers of the read side, not yet taken by their readers',
    () => server.replyBytes,
  )
  metrics.gauge(
    'ingest_listen_paused',
    'Whether new connections are refused now, for want of descriptors',
    () => (guard.isShort ? 1 : 0),
  )
  metrics.gauge(
    'ingest_listen_pauses',
    'How often since the start new connections were refused for want of descriptors',
    () => guard.pauses,
  )
  return port
}
