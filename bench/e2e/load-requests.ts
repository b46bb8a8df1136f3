/** Builds the requests before the load starts: while it runs, the client only copies bytes. */
import { gzipSync } from 'node:zlib'
import { loadCorpus } from '../corpus.ts'
import type { LoadConfig } from './load-config.ts'
import type { LoadRequest } from './load-connection.ts'
import { findSurface } from './surfaces/all.ts'
import { grpcMessage } from './surfaces/grpc-connection.ts'
import type { Surface } from './surfaces/surface.ts'

export function buildRequests(config: LoadConfig): LoadRequest[] {
  const surface = findSurface(config.surface)
  const { eventsPerRequest, keys } = config
  // At least one request a key, and a multiple, so that each body belongs to one stream.
  const wanted = Math.ceil(config.distinctEvents / eventsPerRequest / keys.length) * keys.length
  const lines = loadCorpus({
    kind: surface.corpus,
    count: wanted * eventsPerRequest,
    seed: config.seed,
    file: config.corpusFile,
  })
  return Array.from({ length: wanted }, (_, index) => {
    const start = index * eventsPerRequest
    const body = surface.encodeBody(lines.slice(start, start + eventsPerRequest))
    const key = keys[index % keys.length]!
    const bytes = buildRequest(surface, config, { body, key })
    return { bytes, events: eventsPerRequest, key }
  })
}

function buildRequest(
  surface: Surface,
  config: LoadConfig,
  { body, key }: { body: Buffer; key: string },
): Buffer {
  const payload = config.isGzip ? gzipSync(body) : body
  if (surface.isGrpc) return grpcMessage(payload, config.isGzip)
  const head = [
    `POST ${config.path ?? surface.path} HTTP/1.1`,
    `Host: ${config.host}:${config.port}`,
    surface.authorization(key),
    `Content-Type: ${surface.contentType}`,
    `Content-Length: ${payload.length}`,
    ...(config.isGzip ? ['Content-Encoding: gzip'] : []),
    '\r\n',
  ]
  return Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), payload])
}
