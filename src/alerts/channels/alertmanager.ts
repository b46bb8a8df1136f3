/**
 * Alertmanager's own API, version 2. It forgets an alert at its `endsAt`, and wants to be told
 * again and again what fires: so that is some minutes ahead of each message.
 */
import type { ChannelTarget } from '../../store/alerts/channel-store.ts'
import type { AlertMessage, MessageAlert } from '../webhook-body.ts'
import { headersOf, judgeAnswer, type Post, type SendMessage } from './send-answer.ts'

/** It is told each minute; as with Prometheus, some of that may fail. */
export const ALERTMANAGER_FIRING_MS = 5 * 60_000
/** What is about a rule is told once: for how long it is shown. */
const FAILING_MS = 24 * 3_600_000
const TOLD_MS = 3_600_000
const PATH = '/api/v2/alerts'

export interface PostableAlert {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly startsAt: string
  readonly endsAt: string
  readonly generatorURL?: string
}

export function alertmanagerSender(post: Post, nowMs: () => number): SendMessage {
  return async (target, message, signal) => {
    const { allowsPrivate } = target
    const body = JSON.stringify(postableAlerts(message, nowMs()))
    const headers = { ...headersOf(message), ...credentialOf(target) }
    const url = alertsUrl(target.url)
    return judgeAnswer(await post({ url, allowsPrivate, headers, body }, signal), target)
  }
}

export function postableAlerts(message: AlertMessage, nowMs: number): PostableAlert[] {
  return message.alerts.map((alert) => {
    const { annotations, generatorURL } = alert
    const endMs = endOf(alert, nowMs)
    const startMs = Math.min(Date.parse(alert.startsAt), endMs)
    return {
      labels: labelsOf(alert),
      annotations: { ...annotations, ...toldOf(alert) },
      startsAt: new Date(startMs).toISOString(),
      endsAt: new Date(endMs).toISOString(),
      ...(generatorURL !== '' && { generatorURL }),
    }
  })
}

/** What is about the rule as a whole is another alert than that of a rule without groups. */
function labelsOf({ labels, reason }: MessageAlert): Readonly<Record<string, string>> {
  const about = ABOUT[reason]
  return about === undefined ? labels : { ...labels, sluice_about: about }
}

const ABOUT: Partial<Readonly<Record<MessageAlert['reason'], string>>> = {
  gap: 'gap',
  corrected: 'corrected',
  evaluation_failing: 'evaluation',
  evaluation_restored: 'evaluation',
  test: 'test',
}

function endOf({ status, endsAt, reason }: MessageAlert, nowMs: number): number {
  if (status === 'resolved') return Math.min(Date.parse(endsAt), nowMs)
  if (reason === 'evaluation_failing') return nowMs + FAILING_MS
  if (reason === 'gap' || reason === 'corrected') return nowMs + TOLD_MS
  return nowMs + ALERTMANAGER_FIRING_MS
}

/** Values change, so they are no labels. */
function toldOf({ value, detail }: MessageAlert): Record<string, string> {
  return {
    ...(value !== null && { value: String(value) }),
    ...(detail !== null && { detail }),
  }
}

function alertsUrl(base: string): string {
  const url = new URL(base)
  if (!url.pathname.endsWith(PATH)) url.pathname = `${url.pathname.replace(/\/+$/, '')}${PATH}`
  return url.href
}

function credentialOf({ secret, options: { username } }: ChannelTarget): Record<string, string> {
  if (secret === undefined) return {}
  if (username === undefined) return { Authorization: `Bearer ${secret}` }
  const pair = Buffer.from(`${username}:${secret}`).toString('base64')
  return { Authorization: `Basic ${pair}` }
}
