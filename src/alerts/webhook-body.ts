/**
 * What a webhook gets: a superset of what Alertmanager sends (version 4), so that whatever takes
 * that takes this. One message is about one group of a rule, or about the rule as a whole.
 */
import { createHmac } from 'node:crypto'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { DueMessage } from '../store/alerts/outbox-store.ts'
import type { StoredKind } from '../store/alerts/transitions-sql.ts'

/** Alertmanager's word for "not yet". */
const NO_TIME = '0001-01-01T00:00:00Z'

const REASONS: Partial<Readonly<Record<StoredKind, string>>> = { firing: 'new' }

export function webhookBody({ transition, settings, channel, key, attempts }: DueMessage): string {
  const { kind, ruleName, groupJson = '[]', fingerprint = '', value, events } = transition
  const {
    severity,
    labels: ownLabels = {},
    annotations = {},
    group_by: fields = [],
  } = settings ?? {}
  const values = JSON.parse(groupJson) as readonly unknown[]
  const groupLabels = Object.fromEntries(
    values.map((each, index) => [labelName(fields[index] ?? `group_${index}`), textOf(each)]),
  )
  const labels = {
    ...ownLabels,
    ...groupLabels,
    alertname: ruleName,
    ...(severity !== undefined && { severity }),
  }
  const isOver = kind === 'resolved' || kind === 'evaluation_restored'
  const status = isOver ? 'resolved' : 'firing'
  const [from, to] = [transition.fromMs, transition.untilMs].map(formatTimeMs)
  const alert = {
    ...{ status, labels, annotations, fingerprint, generatorURL: '' },
    ...{ startsAt: isOver ? from : to, endsAt: isOver ? to : NO_TIME },
    ...{ value: value ?? null, threshold: settings?.condition.value ?? null },
    condition: settings === undefined ? null : settings.condition.op,
    window: { from, to, time: settings?.time_basis ?? null },
    event_count: events ?? null,
  }
  return JSON.stringify({
    ...{ version: '4', groupKey: `{}:{rule="${transition.ruleId}"}:${fingerprint}`, status },
    ...{ receiver: channel, truncatedAlerts: 0, reason: REASONS[kind] ?? kind },
    detail: transition.reason ?? null,
    ...{ groupLabels, commonLabels: labels, commonAnnotations: annotations, externalURL: '' },
    alerts: [alert],
    sluice: {
      event_id: key,
      rule_id: String(transition.ruleId),
      rule_version: transition.ruleVersion,
      evaluated_at: formatTimeMs(transition.decidedAtMs),
      attempt: attempts + 1,
    },
  })
}

/** `Sluice-Signature`: HMAC-SHA-256 of the time and the body, so that none is sent again later. */
export function signatureOf(secret: string, seconds: number, body: string): string {
  const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${digest}`
}

/** Names of labels have letters, digits and `_`. */
function labelName(path: string): string {
  const name = path.replace(/[^a-zA-Z0-9_]/g, '_')
  return /^[0-9]/.test(name) ? `_${name}` : name
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
