/** Ingest by agents. */
import type { Stream } from '../stream.ts'

/** Events that an agent sends. */
export interface AgentEvents {
  readonly stream: Stream
  /** `json`: an array of events; `text`: lines of text. */
  readonly kind: 'json' | 'text'
  readonly body: Uint8Array
  readonly idempotencyKey: string | undefined
  /** Rejects when nothing may be stored any more: the token or the stream no longer exists. */
  readonly confirm: () => Promise<unknown>
}

export interface AgentReport {
  readonly accepted: number
  readonly rejected: number
  readonly errors: readonly unknown[]
  readonly event_ids: readonly string[]
}

/** Resolves when the events are durable. Rejects with the errors of other surfaces. */
export type IngestEvents = (events: AgentEvents) => Promise<AgentReport>
