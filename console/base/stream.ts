/** Streams as the API tells them, and the list that all screens share. */
import { signal } from '@preact/signals'
import { failureText, loadAll } from './api.ts'
import { session } from './session.ts'

export interface StreamInfo {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly retention: string
  readonly max_stored_bytes: number | null
  readonly parse_user_agents: boolean
  readonly redact_sensitive: boolean
  readonly redact_fields: readonly string[]
  readonly text_fields?: readonly string[]
  readonly otlp_context?: 'drop' | 'keep'
  readonly rate_budget: number | null
  readonly byte_budget: number | null
  readonly field_soft_cap: number
  readonly field_hard_cap: number
  readonly shape_soft_cap: number
  readonly shape_hard_cap: number
  readonly created_at: string
}

export interface Refusal {
  readonly reason: string
  readonly count: number
  readonly last_at: string
}

export interface Usage {
  readonly events: number
  readonly raw_bytes: number
  readonly stored_bytes: { readonly raw: number; readonly projection: number | null }
  readonly oldest_event_at: string | null
  readonly newest_event_at: string | null
  readonly projection: {
    readonly lag_seconds: number
    readonly segments_behind: number
    readonly set_aside: readonly Refusal[]
  }
  readonly refusals: readonly Refusal[]
  readonly rejected_events: readonly Refusal[]
  readonly schema_learning: 'ok' | 'soft_cap' | 'hard_cap'
  readonly schema: {
    readonly fields: Learned
    readonly shapes: Learned
    readonly type_conflicts: number
  }
}

/** What a list tells of a stream. */
export interface Overview {
  readonly stream_id: string
  readonly events: number
  readonly raw_bytes: number
  readonly stored_bytes: { readonly raw: number; readonly projection: number }
  readonly newest_event_at: string | null
  readonly lag_seconds: number
  readonly set_aside: number
  readonly refused: number
  readonly schema_learning: Usage['schema_learning']
  readonly type_conflicts: number
}

export interface Learned {
  readonly state: string
  readonly count: number
  readonly soft_cap: number
  readonly hard_cap: number
}

/** Undefined until they were loaded once. */
export const streams = signal<readonly StreamInfo[] | undefined>(undefined)
export const streamsFailure = signal<string | undefined>(undefined)

// Who signs in next may not see what was listed for the one before.
session.subscribe(() => {
  streams.value = undefined
  streamsFailure.value = undefined
})

/**
 * Loads all pages of the list. A failure is in `streamsFailure`; what was there stays. Nobody is
 * told of it before `ready` resolves: with the list the screens are shown.
 */
export async function loadStreams(ready?: Promise<void>): Promise<void> {
  const asked = session.value
  try {
    const all = await loadAll<StreamInfo>('streams', 'streams')
    await ready
    if (session.value !== asked) return
    streams.value = all
    streamsFailure.value = undefined
  } catch (cause) {
    await ready
    streamsFailure.value = failureText(cause)
  }
}

export function findStream(id: string | undefined): StreamInfo | undefined {
  return streams.value?.find((stream) => stream.id === id)
}
