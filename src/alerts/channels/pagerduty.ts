/**
 * PagerDuty's Events API, version 2: an event for each alert, so that each is resolved by itself.
 * Its `dedup_key` makes a repeated event the same incident, and another try harmless.
 */
import { WEBHOOK_MS_MAX } from '../../limits.ts'
import type { AlertMessage, MessageAlert } from '../webhook-body.ts'
import {
  groupText,
  numberText,
  ruleNameOf,
  safeLink,
  sampleText,
  summaryOf,
  valueText,
} from './message-words.ts'
import { cutText, oneLine } from './plain-text.ts'
import {
  headersOf,
  judgeAnswer,
  type Post,
  type SendAnswer,
  type SendMessage,
} from './send-answer.ts'

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue'
const SUMMARY_CHARS_MAX = 1_024
const DETAIL_CHARS_MAX = 1_024
const SENT_AT_ONCE = 8

export function pagerdutySender(post: Post): SendMessage {
  return async (target, message, signal) => {
    const { url, secret = '', allowsPrivate } = target
    const headers = headersOf(message)
    // All of them have the time of one.
    const ended = AbortSignal.any([signal, AbortSignal.timeout(WEBHOOK_MS_MAX)])
    const events = pagerdutyEvents(message, secret)
    let last: SendAnswer = { outcome: 'delivered' }
    for (let at = 0; at < events.length; at += SENT_AT_ONCE) {
      const answers = await Promise.all(
        events.slice(at, at + SENT_AT_ONCE).map(async (event) => {
          const request = { url, allowsPrivate, headers, body: JSON.stringify(event) }
          return judgeAnswer(await post(request, ended), target)
        }),
      )
      const failed = answers.find(({ outcome }) => outcome !== 'delivered')
      if (failed !== undefined) return failed
      last = answers.at(-1) ?? last
    }
    return last
  }
}

export function pagerdutyEvents(message: AlertMessage, routingKey: string): object[] {
  return message.alerts.map((alert) => {
    const href = safeLink(alert.generatorURL)
    return {
      routing_key: routingKey,
      event_action: alert.status === 'resolved' ? 'resolve' : 'trigger',
      dedup_key: dedupKey(message, alert),
      client: 'Sluice',
      ...(href !== '' && { links: [{ href, text: 'The events' }] }),
      payload: payloadOf(message, alert),
    }
  })
}

function payloadOf(message: AlertMessage, alert: MessageAlert): object {
  const group = groupText(message, alert)
  const rule = oneLine(ruleNameOf(message))
  const name = group === '' ? rule : `${rule} (${group})`
  const told = alert.detail ?? (alert.reason === 'test' ? summaryOf(message) : valueText(alert))
  const { severity = 'warning' } = alert.labels
  const sample = sampleText({ ...message, alerts: [alert] })
  return {
    summary: cutText(`${name}: ${oneLine(told)}`, SUMMARY_CHARS_MAX),
    source: cutText(group === '' ? rule : group, DETAIL_CHARS_MAX) || 'sluice',
    severity: severity === 'critical' || severity === 'info' ? severity : 'warning',
    timestamp: alert.startsAt,
    group: rule,
    class: alert.reason,
    custom_details: {
      ...cutAll(alert.labels),
      ...cutAll(alert.annotations),
      ...(alert.value !== null && { value: numberText(alert.value) }),
      ...(sample !== '' && { sample }),
    },
  }
}

function cutAll(texts: Readonly<Record<string, string>>): Record<string, string> {
  const cut = ([name, text]: [string, string]) => [name, cutText(text, DETAIL_CHARS_MAX)] as const
  return Object.fromEntries(Object.entries(texts).map(cut))
}

/** The same from the first message about it to its end. */
function dedupKey({ sluice }: AlertMessage, { reason, fingerprint }: MessageAlert): string {
  if (reason === 'gap' || reason === 'corrected' || reason === 'test') return sluice.event_id
  const isOfRule = reason === 'evaluation_failing' || reason === 'evaluation_restored'
  return `sluice-rule-${sluice.rule_id}-${isOfRule ? 'evaluation' : fingerprint}`.slice(0, 255)
}
