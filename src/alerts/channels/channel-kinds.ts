/** The table of kinds: what each sends, and how. */
import type { ChannelKind } from '../../store/alerts/channel-store.ts'
import { postWebhook } from '../post-webhook.ts'
import { alertmanagerSender } from './alertmanager.ts'
import { type ChatKind, chatSender } from './chat.ts'
import { type EmailOptions, emailSender } from './email.ts'
import { heartbeatSender } from './heartbeat.ts'
import { pagerdutySender } from './pagerduty.ts'
import type { Post, SendMessage } from './send-answer.ts'
import { webhookSender } from './webhook.ts'

export interface SendingParts {
  readonly nowMs: () => number
  /** For tests. */
  readonly post?: Post
  readonly email?: EmailOptions
}

/** Sends a message by the kind of its channel. */
export function createSender(parts: SendingParts): SendMessage {
  const { nowMs, email, post = (request, signal) => postWebhook(request, signal) } = parts
  const chat = (kind: ChatKind) => chatSender(kind, post)
  const senders: Readonly<Record<ChannelKind, SendMessage>> = {
    webhook: webhookSender(post, nowMs),
    alertmanager: alertmanagerSender(post, nowMs),
    slack: chat('slack'),
    mattermost: chat('mattermost'),
    discord: chat('discord'),
    teams: chat('teams'),
    google_chat: chat('google_chat'),
    ntfy: chat('ntfy'),
    template: chat('template'),
    pagerduty: pagerdutySender(post),
    email: emailSender(email),
    heartbeat: heartbeatSender(post),
  }
  const known = new Map<string, SendMessage>(Object.entries(senders))
  return async (target, message, signal, text) => {
    const send = known.get(target.kind)
    if (send !== undefined) return await send(target, message, signal, text)
    // A newer node stored it.
    return { outcome: 'later', error: 'this node does not know channels of this kind yet' }
  }
}
