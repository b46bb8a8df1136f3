/** What templates of bodies can name. */
import type { AlertMessage } from '../webhook-body.ts'
import { MarkedUp, type Markup } from './markup.ts'
import {
  groupLabels,
  linkOf,
  ruleNameOf,
  sampleText,
  summaryOf,
  textIn,
  titleIn,
} from './message-words.ts'

/** Have a name behind a point. */
export const MAPS = ['labels', 'annotations', 'group'] as const

export const FIELD_NAMES = [
  ...['title', 'text', 'status', 'reason', 'detail', 'rule', 'severity', 'summary', 'receiver'],
  ...['link', 'count', 'color', 'color_number', 'priority', 'emoji', 'time', 'time_s', 'key'],
  ...['rule_id', 'group_key', 'value', 'threshold', 'condition', 'event_count', 'from', 'to'],
  ...['fingerprint', 'sample', 'alerts', 'message'],
] as const

export type TemplateFields = Readonly<Record<string, unknown>>

const COLORS = { firing: 0xd6_32_32, warning: 0xe0_9b_1a, info: 0x3b_7d_d8, resolved: 0x2e_a0_43 }
const PRIORITIES: Readonly<Record<string, number>> = { critical: 5, warning: 4, info: 3 }

/** Texts are as they are, but for those that hold markup of the service themselves. */
export function templateFields(message: AlertMessage, markup: Markup): TemplateFields {
  const { status, commonLabels, commonAnnotations, alerts, sluice } = message
  const first = alerts[0]!
  const severity = commonLabels.severity ?? 'warning'
  const isFiring = status === 'firing'
  const color = colorOf(status, severity)
  const seconds = Math.floor(Date.parse(sluice.evaluated_at) / 1_000)
  return {
    title: new MarkedUp(titleIn(message, markup)),
    text: new MarkedUp(textIn(message, markup)),
    link: new MarkedUp(linkOf(message)),
    ...{ status, severity, reason: message.reason, detail: message.detail },
    ...{ rule: ruleNameOf(message), summary: summaryOf(message), receiver: message.receiver },
    count: alerts.length + message.truncatedAlerts,
    color: new MarkedUp(`#${color.toString(16).padStart(6, '0')}`),
    color_number: color,
    priority: isFiring ? (PRIORITIES[severity] ?? 4) : 3,
    emoji: new MarkedUp(isFiring ? 'rotating_light' : 'white_check_mark'),
    ...{ time: sluice.evaluated_at, time_s: seconds, key: sluice.event_id },
    ...{ rule_id: sluice.rule_id, group_key: message.groupKey },
    ...{ labels: commonLabels, annotations: commonAnnotations },
    group: groupLabels(message, first),
    ...{ value: first.value, threshold: first.threshold, condition: first.condition },
    ...{ event_count: first.event_count, from: first.window.from, to: first.window.to },
    ...{ fingerprint: first.fingerprint, sample: sampleText(message), alerts, message },
  }
}

function colorOf(status: AlertMessage['status'], severity: string): number {
  if (status === 'resolved') return COLORS.resolved
  return severity === 'warning' || severity === 'info' ? COLORS[severity] : COLORS.firing
}
