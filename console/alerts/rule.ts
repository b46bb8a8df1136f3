/** Rules of alerts as the API tells them, and what is read and changed of them. */
import { type Call, callJson, callText, loadAll } from '../base/api.ts'
import type { Clock } from '../base/clock.ts'
import { parseKeeping, wholeJson } from '../base/exact-json.ts'
import { may, ownToken } from '../base/rights.ts'

export interface Relative {
  readonly fn?: string
  readonly field?: string
  readonly query?: string
  readonly before?: string
}

/** What a person sets. */
export interface RuleSettings {
  readonly description: string
  readonly streams: '*' | readonly string[]
  readonly query: string
  readonly aggregate: { readonly fn: string; readonly field?: string; readonly query?: string }
  /** What the value is divided by: another aggregate, or what it was so long before. */
  readonly relative_to?: Relative
  readonly group_by: readonly string[]
  readonly condition: { readonly op: string; readonly value: number }
  readonly window: string
  readonly every: string
  readonly for: { readonly of: number; readonly in: number }
  readonly keep_firing: number
  readonly no_data: 'ok' | 'fire' | 'keep'
  readonly time_basis: Clock
  readonly delay: string
  readonly severity: string
  readonly repeat: string
  readonly send_resolved: boolean
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly channels: readonly string[]
  readonly paused: boolean
}

export interface RuleInfo extends RuleSettings {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly created_at: string
  readonly updated_at: string
  readonly version: number
  readonly decided_until: string
  readonly groups_firing: number
  readonly groups_pending: number
  readonly failures: number
  readonly problem: string | null
}

/** What the service tells beside the settings. */
const TOLD = [
  ...(['id', 'name', 'owner', 'created_at', 'updated_at', 'version', 'decided_until'] as const),
  ...(['groups_firing', 'groups_pending', 'failures', 'problem'] as const),
]

export interface Range {
  readonly from: string
  readonly to: string
}

/** The values of `group_by`, as JSON each; null: the rule as a whole. */
export type GroupValues = readonly string[] | null

export interface GroupState {
  readonly group: GroupValues
  readonly fingerprint: string
  readonly state: 'inactive' | 'pending' | 'firing'
  readonly since: string
  readonly firing_since: string | null
  readonly last_seen: string
  readonly value: number | null
  /** Until it is resolved it is not told. */
  readonly acknowledged?: { readonly by?: string; readonly comment?: string } | null
  /** Ids of silences. */
  readonly silenced_by?: readonly string[]
}

export interface Transition {
  readonly id: string
  readonly kind: string
  readonly reason: string | null
  readonly group: GroupValues
  readonly fingerprint: string | null
  readonly window: Range
  readonly value: number | null
  readonly event_count: number | null
  readonly rule_version: number
  readonly decided_at: string
}

export interface DecidedWindow extends Range {
  readonly outcome: 'clear' | 'breach' | 'no_data' | 'gap'
  readonly value: number | null
  readonly event_count: number
  readonly groups_in_breach: number
}

export const ALERTS = 'alerts/rules'

export function rulePath({ id }: Pick<RuleInfo, 'id'>): string {
  return `${ALERTS}/${id}`
}

export async function loadRules(signal: AbortSignal): Promise<readonly RuleInfo[]> {
  return await loadAll<RuleInfo>(ALERTS, 'rules', { signal })
}

/** An answer, of which groups keep the digits of their numbers. Throws as `call` does. */
export async function callGroups<T>(path: string, options: Call = {}): Promise<T> {
  return parseKeeping(wholeJson(await callText(path, options)), 'group') as T
}

/** What is put to have the same rule again; members that this page does not know stay. */
export function settingsOf(rule: RuleInfo): RuleSettings {
  const told: readonly string[] = TOLD
  const kept = Object.entries(rule).filter(([name]) => !told.includes(name))
  return Object.fromEntries(kept) as unknown as RuleSettings
}

/** Replaces the version that was read. Throws `ApiError`: 412 when there is another one by now. */
export async function changeRule(rule: RuleInfo, body: RuleSettings): Promise<RuleInfo> {
  const headers = { 'If-Match': `"${rule.version}"` }
  const query = { owner: rule.owner }
  return await callJson(`${ALERTS}/${rule.name}`, { method: 'PUT', query, headers, body })
}

/** Throws `ApiError`: 412 when there is one of this name. */
export async function makeRule(name: string, body: RuleSettings): Promise<RuleInfo> {
  const headers = { 'If-None-Match': '*' }
  return await callJson(`${ALERTS}/${encodeURIComponent(name)}`, { method: 'PUT', headers, body })
}

/** A rule reads with the rights of who makes it. */
export function mayMakeRules(): boolean {
  return may('alerts:write') && may('events:read')
}

/** Somebody else's than that of who is signed in, as far as that is known. */
export function isOfOther({ owner }: Pick<RuleInfo, 'owner'>): boolean {
  return ownToken.value !== undefined && ownToken.value.owner !== owner
}

/** An admin changes those of others, too. */
export function mayChangeRule(rule: RuleInfo): boolean {
  return mayMakeRules() && (!isOfOther(rule) || may('admin'))
}

/** Whether a window without events has the value 0. */
export function isCounting({ aggregate: { fn }, relative_to: relative }: RuleSettings): boolean {
  if (relative !== undefined) return false
  return fn === 'count' || fn === 'rate' || fn === 'uniq'
}
