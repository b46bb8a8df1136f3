import type { BatchBuffers } from '../bytes/batch-buffers.ts'
import type { Config } from '../config.ts'
import type { Health } from '../telemetry/health.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/** What the parts of one running service share. */
export interface Context {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  readonly health: Health
  readonly buffers: BatchBuffers
  /** Ends parts of the service, the last one first. */
  readonly stoppers: (() => unknown)[]
  /** This process can do no more good: it ends, to be started again. */
  readonly onFatal: (reason: string) => void
}
