/** A message as mail: a subject, a text, and the same as simple HTML. */
import { createHash } from 'node:crypto'
import type { AlertMessage, MessageAlert } from '../webhook-body.ts'
import { MARKUPS } from './markup.ts'
import {
  groupText,
  linkOf,
  sampleText,
  summaryOf,
  textIn,
  titleOf,
  valueText,
} from './message-words.ts'
import { cutText, oneLine } from './plain-text.ts'

export interface EmailBody {
  readonly subject: string
  readonly text: string
  readonly html: string
}

const SUBJECT_CHARS_MAX = 200
/** Those of a message. */
const ROWS_MAX = 50
const CELL_CHARS_MAX = 500

export function emailBody(message: AlertMessage): EmailBody {
  return {
    subject: cutText(titleOf(message), SUBJECT_CHARS_MAX),
    text: `${titleOf(message)}\n\n${textIn(message, MARKUPS.email)}\n`,
    html: htmlOf(message),
  }
}

function htmlOf(message: AlertMessage): string {
  const { alerts, truncatedAlerts, detail } = message
  const url = linkOf(message)
  const sample = sampleText(message)
  const rest = alerts.length - ROWS_MAX + truncatedAlerts
  const paragraphs = [summaryOf(message), detail ?? '']
    .filter((text) => text !== '')
    .map((text) => `<p>${html(cutText(text, CELL_CHARS_MAX * 2))}</p>`)
  return [
    '<!DOCTYPE html><html><body style="font-family: sans-serif">',
    `<h3 style="color: ${COLORS[message.status]}">${html(titleOf(message))}</h3>`,
    ...paragraphs,
    '<table cellpadding="4" style="border-collapse: collapse">',
    ...alerts.slice(0, ROWS_MAX).map((alert) => rowOf(message, alert)),
    '</table>',
    ...(rest > 0 ? [`<p>and ${rest} more</p>`] : []),
    ...(sample === '' ? [] : [`<pre style="white-space: pre-wrap">${html(sample)}</pre>`]),
    ...(url === '' ? [] : [`<p><a href="${html(url)}">Show the events</a></p>`]),
    '</body></html>',
  ].join('\n')
}

const COLORS = { firing: '#b3261e', resolved: '#1b7f3b' }

function rowOf(message: AlertMessage, alert: MessageAlert): string {
  const cells = [alert.status, groupText(message, alert), valueText(alert)]
  const style = 'border: 1px solid #cccccc'
  return `<tr>${cells
    .map((cell) => `<td style="${style}">${html(oneLine(cutText(cell, CELL_CHARS_MAX)))}</td>`)
    .join('')}</tr>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function html(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char]!)
}

/**
 * The same for each try, so that it is the same mail, and other ones elsewhere: two installations
 * have messages of the same keys.
 */
export function messageIdOf({ sluice, receiver }: AlertMessage, from: string): string {
  return idAt([sluice.event_id, sluice.evaluated_at, sluice.rule_id, receiver, from], from)
}

/** Mails about one rule are a thread. */
export function threadIdOf({ sluice, receiver }: AlertMessage, from: string): string {
  return idAt(['rule', sluice.rule_id, receiver, from], from)
}

function idAt(parts: readonly string[], from: string): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
  return `<sluice.${digest}@${from.slice(from.lastIndexOf('@') + 1)}>`
}
