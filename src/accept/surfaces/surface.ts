/** What an ingest surface is to the service: it is opened once, at the start. */
import type { Config } from '../../config.ts'
import type { Route } from '../../http/exchange.ts'
import type { Stream, StreamId } from '../../model/stream.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { IngestDeps } from '../request/ingest.ts'

/** What a surface may use. */
export interface SurfaceParts {
  readonly deps: IngestDeps
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  /** For senders that have no key. */
  readonly findStream: (streamId: StreamId) => Promise<Stream | undefined>
  /** The one of this name, made where there is none. Rejects when several owners have one. */
  readonly findOrMakeStream: (name: string) => Promise<Stream>
}

export interface OpenSurface {
  /** Its paths, where it comes over HTTP. */
  readonly routes: readonly Route[]
  /** Closes what it listens on, and waits for what it has taken. */
  readonly stop?: () => unknown
}

/** Rejects when it cannot be opened; nothing of it is left open then. */
export type Surface = (parts: SurfaceParts) => OpenSurface | Promise<OpenSurface>
