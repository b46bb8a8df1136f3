/**
 * Writes a message, but for the number of the try and, at first, for its sample events. From then
 * on its text is what is sent.
 */
import { withMemberTexts } from '../../api/json-text.ts'
import { mainTurns } from '../../api/main-turns.ts'
import { ALERT_MESSAGE_BYTES_MAX } from '../../limits.ts'
import { formatTimeMs, NO_TIME } from '../../model/rfc3339.ts'
import type { QueueFacts } from '../../store/alerts/queue-facts.ts'
import type { RuleSettings } from '../../store/alerts/rule.ts'
import { countedEventsQuery, countedStream } from '../counted-events-query.ts'
import type { AlertMessage, MessageAlert, MessageReason } from '../webhook-body.ts'
import { commonOf, groupLabelsOf, labelsOf } from './alert-labels.ts'
import type { DeliveryTerms } from './delivery-terms.ts'

/** An alert to tell. */
export interface ToldAlert {
  readonly reason: MessageReason
  readonly isOver: boolean
  /** Empty: it is about the rule as a whole. */
  readonly fingerprint: string
  readonly groupJson: string
  /** Undefined: the rule is gone, and nobody knows what it was. */
  readonly settings: RuleSettings | undefined
  readonly detail: string | undefined
  readonly startsMs: number
  readonly endsMs: number | undefined
  readonly value: number | undefined
  readonly events: number | undefined
  readonly fromMs: number
  readonly untilMs: number
  readonly decidedAtMs: number
}

export interface MessageFacts {
  readonly facts: QueueFacts
  readonly terms: DeliveryTerms
  readonly publicUrl: string | undefined
  /** What of the rule as a whole; undefined: groups. */
  readonly about: string | undefined
  /** What matters most first. */
  readonly alerts: readonly ToldAlert[]
}

/** Alerts that are written in one turn of the main thread. */
const TURN_ALERTS = 25

export async function writeMessage(key: string, message: MessageFacts): Promise<string> {
  const { facts, about, alerts, publicUrl } = message
  const { ruleId, ruleName, channel, rule } = facts
  const told = await inFull(message)
  const first = alerts[0]!
  const newestMs = (of: (alert: ToldAlert) => number) => {
    return alerts.reduce((most, alert) => Math.max(most, of(alert)), 0)
  }
  const head: Omit<AlertMessage, 'alerts' | 'sluice'> = {
    version: '4',
    groupKey: `{}:{rule="${ruleId}"}${about === undefined ? '' : `:${about}`}`,
    status: alerts.every(({ isOver }) => isOver) ? 'resolved' : 'firing',
    receiver: channel,
    truncatedAlerts: alerts.length - told.length,
    reason: first.reason,
    detail: alerts.length === 1 ? (first.detail ?? null) : null,
    groupLabels: { ...commonOf(alerts.slice(0, told.length).map(ofGroup)), alertname: ruleName },
    commonLabels: commonOf(told.map(({ labels }) => labels)),
    commonAnnotations: commonOf(told.map(({ annotations }) => annotations)),
    externalURL: publicUrl === undefined ? '' : `${publicUrl}/console/`,
  }
  const sluice: Omit<AlertMessage['sluice'], 'attempt'> = {
    event_id: key,
    rule_id: String(ruleId),
    rule_version: rule?.version ?? Math.max(0, ...facts.versions.keys()),
    evaluated_at: formatTimeMs(newestMs(({ decidedAtMs }) => decidedAtMs)),
    as_of: formatTimeMs(rule?.cursorMs ?? newestMs(({ untilMs }) => untilMs)),
  }
  return joined(
    head,
    told.map((alert) => JSON.stringify(alert)),
    sluice,
  )
}

/** The same with samples: of each alert the texts of its events, or why there are none. */
export function withSamples(
  content: string,
  samples: readonly { readonly texts: readonly string[]; readonly problem: string | null }[],
): string {
  const { alerts, sluice, ...head } = JSON.parse(content) as AlertMessage
  const texts = alerts.map(({ samples: _none, samples_problem: _unknown, ...alert }, index) => {
    const { texts: found = [], problem = null } = samples[index] ?? {}
    const told = { samples: `[${found.join(',')}]`, samples_problem: JSON.stringify(problem) }
    return withMemberTexts(alert, told)
  })
  return joined(head, texts, sluice)
}

/** `sluice` comes last, so that the number of the try can be put at its end. */
function joined(head: object, alerts: readonly string[], sluice: object): string {
  return withMemberTexts(head, {
    alerts: `[${alerts.join(',')}]`,
    sluice: JSON.stringify(sluice),
  })
}

function ofGroup({ settings, groupJson }: ToldAlert): Readonly<Record<string, string>> {
  return groupLabelsOf(settings?.group_by, groupJson)
}

/** As many as fit, at least one. */
async function inFull(message: MessageFacts): Promise<MessageAlert[]> {
  const { alerts, facts, terms, publicUrl } = message
  const told: MessageAlert[] = []
  let bytes = 0
  for (const alert of alerts.slice(0, terms.alertsMax)) {
    if (told.length % TURN_ALERTS === TURN_ALERTS - 1) await mainTurns.next()
    const written = alertOf(alert, facts, publicUrl)
    bytes += Buffer.byteLength(JSON.stringify(written))
    if (bytes > ALERT_MESSAGE_BYTES_MAX && told.length > 0) break
    told.push(written)
  }
  return told
}

function alertOf(
  alert: ToldAlert,
  { ruleName }: QueueFacts,
  publicUrl: string | undefined,
): MessageAlert {
  const { settings, groupJson, fingerprint, startsMs, endsMs, fromMs, untilMs } = alert
  const ofRule = fingerprint === '' && settings !== undefined
  const asked = ofRule ? { ...settings, group_by: [] } : settings
  const query = asked && countedEventsQuery(asked, groupJson)
  return {
    status: alert.isOver ? 'resolved' : 'firing',
    labels: labelsOf(asked, ruleName, groupJson),
    annotations: settings?.annotations ?? {},
    startsAt: formatTimeMs(startsMs),
    endsAt: endsMs === undefined ? NO_TIME : formatTimeMs(endsMs),
    fingerprint,
    generatorURL:
      publicUrl === undefined || asked === undefined
        ? ''
        : linkTo(publicUrl, asked, { groupJson, query, fromMs, untilMs }),
    reason: alert.reason,
    detail: alert.detail ?? null,
    value: alert.value ?? null,
    threshold: settings?.condition.value ?? null,
    condition: settings?.condition.op ?? null,
    window: {
      from: formatTimeMs(fromMs),
      to: formatTimeMs(untilMs),
      time: settings?.time_basis ?? null,
    },
    event_count: alert.events ?? null,
    query: query ?? null,
    samples: [],
    samples_problem: null,
  }
}

/** Explore, with the events of a group and a window: see `console/base/address.ts`. */
function linkTo(
  publicUrl: string,
  settings: RuleSettings,
  of: {
    readonly groupJson: string
    readonly query: string | undefined
    readonly fromMs: number
    readonly untilMs: number
  },
): string {
  const { streams, time_basis: basis, query } = settings
  const only = streams !== '*' && streams.length === 1 ? streams[0] : undefined
  const stream = countedStream(settings, of.groupJson) ?? only
  const params = new URLSearchParams()
  const text = of.query ?? query
  if (text !== '') params.set('q', text)
  params.set('from', formatTimeMs(of.fromMs))
  params.set('to', formatTimeMs(of.untilMs))
  params.set('basis', basis)
  const path = stream === undefined ? 'explore' : `explore/${encodeURIComponent(stream)}`
  return `${publicUrl}/console/#/${path}?${params}`
}
