import { joinLines } from '../../corpus.ts'
import { hecEnvelopes } from '../../hec-request.ts'
import { lokiProtobuf } from '../../loki-request.ts'
import { otlpProtobuf } from '../../otlp-request.ts'
import { encodeLoki, refreshTimes } from './loki.ts'
import type { Surface } from './surface.ts'
import { wireOf } from './wire.ts'

/** The action of forwarders that leave ids to the cluster. */
const ACTION = '{"create":{"_index":"logs"}}\n'

const SURFACES: readonly Surface[] = [
  { name: 'json', ...wireOf('native'), corpus: 'json', encodeBody: joinLines },
  { name: 'text', ...wireOf('text'), corpus: 'text', encodeBody: joinLines },
  {
    name: 'bulk',
    ...wireOf('bulk'),
    corpus: 'json',
    encodeBody: (lines) => Buffer.from(lines.map((line) => `${ACTION}${line}\n`).join('')),
  },
  // Each event is the kvlist body of a log record, as structured logging sends it.
  {
    name: 'otlp',
    ...wireOf('otlp'),
    corpus: 'json',
    encodeBody: (lines) => otlpProtobuf(lines, 'kvlist'),
  },
  {
    name: 'otlp-grpc',
    ...wireOf('otlp'),
    corpus: 'json',
    isGrpc: true,
    encodeBody: (lines) => otlpProtobuf(lines, 'kvlist'),
  },
  { name: 'hec', ...wireOf('hec'), corpus: 'json', encodeBody: hecEnvelopes },
  {
    name: 'loki',
    ...wireOf('loki'),
    corpus: 'json',
    // The tenant for Loki, the key for us.
    authorization: (key) => `X-Scope-OrgID: bench\r\nX-API-Key: ${key}`,
    encodeBody: encodeLoki,
    refresh: refreshTimes,
  },
  { name: 'loki-protobuf', ...wireOf('loki-protobuf'), corpus: 'json', encodeBody: lokiProtobuf },
]

export const SURFACE_NAMES = SURFACES.map(({ name }) => name)

export function findSurface(name: string): Surface {
  const surface = SURFACES.find((candidate) => candidate.name === name)
  if (surface !== undefined) return surface
  throw new Error(`no surface ${name}; there are ${SURFACE_NAMES.join(', ')}`)
}
