/** Incoming webhooks of chat and push services, and any other that takes JSON: by a template. */
import type { AlertMessage } from '../webhook-body.ts'
import { MARKUPS } from './markup.ts'
import { NO_TOPIC, trySplitTopic } from './ntfy-topic.ts'
import { PRESETS } from './presets.ts'
import { headersOf, judgeAnswer, type Post, type SendMessage } from './send-answer.ts'
import { renderTemplate } from './template.ts'
import { templateFields } from './template-fields.ts'

export type ChatKind =
  | 'slack'
  | 'mattermost'
  | 'discord'
  | 'teams'
  | 'google_chat'
  | 'ntfy'
  | 'template'

export function chatSender(kind: ChatKind, post: Post): SendMessage {
  return async (target, message, signal) => {
    const { allowsPrivate, secret, options } = target
    const place = kind === 'ntfy' ? trySplitTopic(target.url) : { url: target.url }
    if (place === undefined) return { outcome: 'refused', error: NO_TOPIC }
    const { url, ...added } = place
    const rendered = renderChat(kind, message, options.template)
    const body = JSON.stringify({ ...(rendered as object), ...added })
    const credential = secret !== undefined && { Authorization: `Bearer ${secret}` }
    const headers = { ...headersOf(message), ...credential }
    return judgeAnswer(await post({ url, allowsPrivate, headers, body }, signal), target)
  }
}

/** The body; `template` in place of what the kind sends else. */
export function renderChat(kind: ChatKind, message: AlertMessage, template?: unknown): unknown {
  const markup = MARKUPS[kind]
  const fields = templateFields(message, markup)
  return renderTemplate(template ?? PRESETS[kind] ?? {}, fields, markup.literal)
}
