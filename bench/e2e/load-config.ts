/** What the bench tells its load client, and what it hears back. Crosses a process as JSON. */
import type { Percentiles } from './latencies.ts'

export interface LoadConfig {
  readonly host: string
  readonly port: number
  readonly surface: string
  /** Where requests go, if not to the surface's own path. */
  readonly path?: string | undefined
  /** One API key a stream; requests go round them. */
  readonly keys: readonly string[]
  readonly connections: number
  readonly eventsPerRequest: number
  /** Sending ends when so many events are acknowledged or in flight. */
  readonly eventsMax: number
  /** Sending ends after so many seconds. */
  readonly secondsMax: number
  /** Events a second, 0 for as fast as the service answers. */
  readonly rate: number
  readonly isGzip: boolean
  readonly corpusFile: string | undefined
  readonly seed: number
  /** Events that the prebuilt requests hold together. */
  readonly distinctEvents: number
}

export interface LoadResult {
  readonly seconds: number
  readonly requests: number
  readonly acknowledgedEvents: number
  /** Events that a 2xx reply did not accept. */
  readonly rejectedEvents: number
  /** 429 and 503 replies: whole requests, tried again later. */
  readonly refusals: number
  /** Any other status: `{"413": 2}`. */
  readonly failures: Readonly<Record<string, number>>
  /** Body of the first such reply. */
  readonly firstFailure: string | undefined
  /** Requests whose connection was cut; sent again, so their events may be stored twice. */
  readonly lostRequests: number
  readonly firstLost: string | undefined
  /** Requests still unanswered when the client gave up waiting. */
  readonly unansweredRequests: number
  /** Milliseconds; with a rate, from when the request was due, not from when it could be sent. */
  readonly acknowledge: Percentiles
  readonly refuse: Percentiles
  /** The client's own CPU over the load. */
  readonly clientCpuMicros: number
  readonly bodyBytesPerEvent: number
}

export type LoadMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly result: LoadResult }
