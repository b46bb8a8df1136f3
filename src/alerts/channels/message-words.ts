/** What a message says to people: a title, and a text of some lines. */
import type { AlertMessage, AlertSample, MessageAlert } from '../webhook-body.ts'
import type { Markup } from './markup.ts'
import { cutText, escapeWithin, oneLine, withoutHidden } from './plain-text.ts'

/** Alerts of a message that are told one by one; the others are counted. */
const ALERTS_SHOWN = 10
const PIECE_CHARS = 200
const SAMPLE_CHARS = 400

const LABELS: Readonly<Record<string, string>> = {
  gap: 'GAP',
  corrected: 'CORRECTED',
  evaluation_failing: 'NOT EVALUATED',
  evaluation_restored: 'EVALUATED AGAIN',
  test: 'TEST',
}

export function ruleNameOf({ commonLabels, alerts }: AlertMessage): string {
  return commonLabels.alertname ?? alerts[0]?.labels.alertname ?? ''
}

/** Plain, in one line. */
export function titleOf(message: AlertMessage): string {
  const { alerts, truncatedAlerts } = message
  const [only] = alerts
  const isOne = alerts.length + truncatedAlerts === 1
  const group = isOne && only !== undefined ? groupText(message, only) : ''
  const rule = oneLine(ruleNameOf(message))
  return `[${labelOf(message)}] ${rule}${group === '' ? '' : `: ${cutText(group, PIECE_CHARS)}`}`
}

function labelOf({ alerts, truncatedAlerts, reason, status }: AlertMessage): string {
  const label = LABELS[reason]
  if (label !== undefined) return label
  const resolved = alerts.filter((alert) => alert.status === 'resolved').length
  const firing = alerts.length - resolved
  const more = (own: 'firing' | 'resolved') => (own === status ? truncatedAlerts : 0)
  const told: [words: string, count: number][] = [
    [reason === 'repeat' ? 'STILL FIRING' : 'FIRING', firing === 0 ? 0 : firing + more('firing')],
    ['RESOLVED', resolved === 0 ? 0 : resolved + more('resolved')],
  ]
  return told
    .filter(([, count]) => count > 0)
    .map(([words, count]) => (count === 1 ? words : `${words}: ${count}`))
    .join(', ')
}

/** What tells an alert from others of its rule: `service=web, path=/a`. */
export function groupText(message: AlertMessage, alert: MessageAlert): string {
  const own = groupLabels(message, alert)
  const pairs = Object.entries(own).map(([name, value]) => `${name}=${cutText(value, PIECE_CHARS)}`)
  return oneLine(pairs.join(', '))
}

/** Its labels that are not the same in all alerts, or else those that the message is about. */
export function groupLabels(
  { commonLabels, groupLabels: shared, alerts }: AlertMessage,
  alert: MessageAlert,
): Readonly<Record<string, string>> {
  const isName = (name: string) => name === 'alertname' || name === 'severity'
  const differs = ([name, value]: [string, string]) => commonLabels[name] !== value
  const labels = Object.entries(alert.labels).filter(([name]) => !isName(name))
  const own = labels.filter(differs)
  if (own.length > 0 || alerts.length > 1) return Object.fromEntries(own)
  return Object.fromEntries(Object.entries(shared).filter(([name]) => !isName(name)))
}

/** `53 > 20 (2026-05-05 05:04:00 to 05:05:00 UTC, 53 events)`. */
export function valueText(alert: MessageAlert): string {
  const { value, threshold, condition, window, event_count: count, status } = alert
  const shown = value === null ? 'no value' : numberText(value)
  const isJudged = status === 'firing' && condition !== null && threshold !== null
  const judged = isJudged ? `${shown} ${condition} ${numberText(threshold)}` : shown
  const events = count === null ? '' : `, ${count} event${count === 1 ? '' : 's'}`
  const told = status === 'firing' ? judged : `resolved, ${judged}`
  return `${told} (${windowText(window)}${events})`
}

function windowText({ from, to }: MessageAlert['window']): string {
  const [day, dayOfEnd] = [from.slice(0, 10), to.slice(0, 10)]
  const end = day === dayOfEnd ? to.slice(11, 19) : `${dayOfEnd} ${to.slice(11, 19)}`
  return `${day} ${from.slice(11, 19)} to ${end} UTC`
}

/** Six digits are enough for people. */
export function numberText(value: number): string {
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(6)))
}

/** The first sample event of a message. */
export function sampleText({ alerts }: AlertMessage): string {
  const sample = alerts.find(({ samples }) => samples.length > 0)?.samples[0]
  return sample === undefined ? '' : cutText(withoutHidden(eventText(sample)).trim(), SAMPLE_CHARS)
}

function eventText({ event }: AlertSample): string {
  if (typeof event === 'string') return event
  if (typeof event !== 'object' || event === null) return ''
  const { message } = event as { readonly message?: unknown }
  return typeof message === 'string' && message !== '' ? message : JSON.stringify(event)
}

/** Where the events are to be seen; empty where nobody knows. Only http and https. */
export function linkOf({ alerts, externalURL }: AlertMessage): string {
  return safeLink(alerts.length === 1 ? alerts[0]!.generatorURL || externalURL : externalURL)
}

/** A URL that ends nothing in which it is put; empty for any other text. */
export function safeLink(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return ''
  return new URL(url).href.replace(/[<>|"'()\\[\]`*~@]/g, (char) => {
    return `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  })
}

export function titleIn(message: AlertMessage, { literal, titleMax }: Markup): string {
  return escapeWithin(titleOf(message), literal, titleMax)
}

/** All of it, within what the service takes. */
export function textIn(message: AlertMessage, markup: Markup): string {
  const { literal, link, code, lineEnd, textMax } = markup
  const { alerts, truncatedAlerts, detail } = message
  const piece = (text: string) => literal(cutText(oneLine(text), PIECE_CHARS * 2))
  const summary = summaryOf(message)
  const head = [summary, detail ?? ''].filter((text) => text !== '').map(piece)
  const url = linkOf(message)
  const sample = sampleText(message)
  const tail = [
    ...(sample === '' ? [] : [code(sample)]),
    ...(url === '' ? [] : [link(url, literal('Show the events'))]),
  ]
  const lengthOf = (lines: readonly string[]) =>
    lines.reduce((sum, line) => sum + line.length + lineEnd.length, 0)
  // Room for "and 12345 more".
  let room = textMax - lengthOf(head) - lengthOf(tail) - 64
  const lines: string[] = []
  for (const alert of alerts.slice(0, ALERTS_SHOWN)) {
    const line = alertLine(message, alert, markup)
    room -= line.length + lineEnd.length
    if (room < 0) break
    lines.push(line)
  }
  const rest = alerts.length - lines.length + truncatedAlerts
  if (rest > 0) lines.push(literal(`and ${rest} more`))
  return [...head, ...lines, ...tail].join(lineEnd)
}

function alertLine(
  message: AlertMessage,
  alert: MessageAlert,
  { literal, bold, link }: Markup,
): string {
  const group = cutText(groupText(message, alert), PIECE_CHARS)
  const url = message.alerts.length > 1 ? safeLink(alert.generatorURL) : ''
  const name = bold(literal(group))
  const told = literal(valueText(alert))
  const shown = url === '' || url.length > PIECE_CHARS * 5 ? '' : ` ${link(url, literal('events'))}`
  return (name === '' ? told : `${name}: ${told}`) + shown
}

/** What the rule's own annotations say of it. */
export function summaryOf({ commonAnnotations: texts }: AlertMessage): string {
  return texts.summary ?? texts.description ?? ''
}
