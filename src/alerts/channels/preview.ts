/** What a channel would send, without sending it. */
import { malformed } from '../../errors.ts'
import type { ChannelKind } from '../../store/alerts/channel-store.ts'
import type { AlertMessage } from '../webhook-body.ts'
import { postableAlerts } from './alertmanager.ts'
import { renderChat } from './chat.ts'
import { emailBody } from './email-body.ts'
import { pagerdutyEvents } from './pagerduty.ts'
import { PRESETS } from './presets.ts'
import { checkTemplate } from './template.ts'

/** `template` is the one that was used, where the kind takes one. Throws `malformed`. */
export function previewOf(
  kind: ChannelKind,
  message: AlertMessage,
  template: unknown,
  nowMs: number,
): { readonly body: unknown; readonly template: unknown } {
  const takesTemplate = kind === 'template' || PRESETS[kind] !== undefined
  if (template !== undefined) {
    if (!takesTemplate) throw malformed(`"template" does not belong to the kind ${kind}`)
    checkTemplate(template)
  } else if (kind === 'template') {
    throw malformed('"template" is required for the kind template')
  }
  return { body: bodyOf(kind, message, template, nowMs), template: template ?? PRESETS[kind] }
}

function bodyOf(kind: ChannelKind, message: AlertMessage, template: unknown, nowMs: number) {
  if (kind === 'heartbeat') throw malformed('a heartbeat has no body')
  if (kind === 'webhook') return message
  if (kind === 'alertmanager') return postableAlerts(message, nowMs)
  if (kind === 'pagerduty') return pagerdutyEvents(message, '***')
  if (kind === 'email') return emailBody(message)
  return renderChat(kind, message, template)
}
