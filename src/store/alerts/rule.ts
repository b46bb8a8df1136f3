/** Rules of alerts, as they are stored. */
import type { StreamId } from '../../model/stream.ts'

/** What a person sets, as in the API. */
export interface RuleSettings {
  readonly description: string
  readonly streams: '*' | readonly string[]
  readonly query: string
  /** The saved view that the query was taken from. */
  readonly view_id?: string
  readonly aggregate: {
    readonly fn: string
    readonly field?: string
    readonly query?: string
  }
  /** What the value is divided by: another aggregate, or what it was so long before. */
  readonly relative_to?: {
    readonly fn?: string
    readonly field?: string
    readonly query?: string
    readonly before?: string
  }
  readonly group_by: readonly string[]
  readonly condition: {
    readonly op: '>' | '>=' | '<' | '<=' | '==' | '!='
    readonly value: number
  }
  /** Durations are texts, such as `5m`. */
  readonly window: string
  readonly every: string
  readonly for: { readonly of: number; readonly in: number }
  readonly keep_firing: number
  readonly no_data: 'ok' | 'fire' | 'keep'
  readonly time_basis: 'ingested_at' | 'event_time'
  readonly delay: string
  readonly severity: 'info' | 'warning' | 'critical'
  readonly repeat: string
  readonly send_resolved: boolean
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly channels: readonly string[]
  readonly paused: boolean
}

/** With whose rights a rule reads. */
export interface RuleRights {
  readonly owner: string
  /** Made by an admin: it sees all streams while its owner is one. */
  readonly asAdmin: boolean
  /** Made by a token that is limited to these. */
  readonly streamIds: readonly StreamId[] | undefined
}

export interface Rule extends RuleRights {
  readonly ruleId: number
  readonly name: string
  readonly settings: RuleSettings
  /** Rises with every change. */
  readonly version: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** How often a window ends, and how long after that it may be decided. */
  readonly everyMs: number
  readonly delayMs: number
  /** All windows that end up to here are decided or given up. */
  readonly cursorMs: number
  /** Failures in a row, and the last one's reason. */
  readonly failures: number
  readonly problem: string | undefined
  /** That it fails has been told. */
  readonly isTold: boolean
}

/** As people are told of it. */
export interface ToldRule extends Rule {
  /** How many of its groups fire, and how many are about to. */
  readonly groupsFiring: number
  readonly groupsPending: number
}
