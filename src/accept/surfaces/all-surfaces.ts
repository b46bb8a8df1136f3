/** Every ingest surface that is open to the network. A new one is a folder, and a line here. */
import { elasticSurface } from './elastic/elastic.ts'
import { hecSurface } from './hec/hec.ts'
import { lokiSurface } from './loki/loki.ts'
import { nativeSurface } from './native/native.ts'
import { otlpGrpcSurface } from './otlp/grpc/otlp-grpc.ts'
import { otlpSurface } from './otlp/otlp.ts'
import type { Surface } from './surface.ts'
import { syslogSurface } from './syslog/syslog.ts'

export const SURFACES: readonly Surface[] = [
  nativeSurface,
  elasticSurface,
  otlpSurface,
  otlpGrpcSurface,
  lokiSurface,
  hecSurface,
  syslogSurface,
]
