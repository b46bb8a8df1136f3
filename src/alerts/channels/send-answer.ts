/** What became of one try to send, and how that follows from an answer over HTTP. */
import type { ChannelTarget } from '../../store/alerts/channel-store.ts'
import type { WebhookAnswer, WebhookRequest } from '../post-webhook.ts'
import type { AlertMessage } from '../webhook-body.ts'
import { saidText } from './plain-text.ts'

export interface SendAnswer {
  /** `later`: another try may succeed; `refused`: none will. */
  readonly outcome: 'delivered' | 'later' | 'refused'
  /** Of HTTP or SMTP. */
  readonly status?: number | undefined
  /** What the other side said: without secrets, and cut. */
  readonly said?: string | undefined
  /** Why it is not delivered, or not to everybody. */
  readonly error?: string | undefined
  /** How long it asked to wait. */
  readonly retryAfterS?: number | undefined
}

/**
 * Rejects with `AddressRefusedError`, or when there is no answer. `text`: the message as it is
 * stored, with digits of numbers that JavaScript does not keep.
 */
export type SendMessage = (
  target: ChannelTarget,
  message: AlertMessage,
  signal: AbortSignal,
  text?: string,
) => Promise<SendAnswer>

export type Post = (request: WebhookRequest, signal: AbortSignal) => Promise<WebhookAnswer>

const RETRIED = [408, 425, 429]

/** `saysWhy`: the error holds what the other side said. */
export function judgeAnswer(
  { status, retryAfterS, text = '' }: WebhookAnswer,
  target: ChannelTarget,
  { saysWhy = true } = {},
): SendAnswer {
  const said = saidText(text, secretsOf(target))
  const outcome = outcomeOf(status)
  if (outcome === 'delivered') return { outcome, status, said }
  const error = `it answered ${status}${saysWhy && said !== '' ? `: ${said}` : ''}`
  return { outcome, status, said, error, retryAfterS }
}

function outcomeOf(status: number): SendAnswer['outcome'] {
  if (status >= 200 && status < 300) return 'delivered'
  return status < 500 && !RETRIED.includes(status) ? 'refused' : 'later'
}

/** What may not be seen of a channel. */
export function secretsOf({ url, secret, options: { username } }: ChannelTarget): string[] {
  const { pathname, search } = new URL(url)
  const pairs =
    username === undefined || secret === undefined
      ? []
      : [`${username}:${secret}`, `\0${username}\0${secret}`]
  const parts = [url, `${pathname}${search}`, pathname, ...pathname.split('/'), search.slice(1)]
  return [...parts, ...pairs, secret].filter((text): text is string => !!text)
}

/** What each request has. */
export function headersOf({ sluice }: AlertMessage): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'sluice',
    'Idempotency-Key': sluice.event_id,
  }
}
