/** A message as it is, signed. */
import { signatureOf } from '../webhook-body.ts'
import { headersOf, judgeAnswer, type Post, type SendMessage } from './send-answer.ts'

export function webhookSender(post: Post, nowMs: () => number): SendMessage {
  return async (target, message, signal, text) => {
    const { url, secret, allowsPrivate } = target
    const body = text ?? JSON.stringify(message)
    const seconds = Math.floor(nowMs() / 1_000)
    const signed = secret && { 'Sluice-Signature': signatureOf(secret, seconds, body) }
    const headers = { ...headersOf(message), ...signed }
    const answer = await post({ url, allowsPrivate, headers, body }, signal)
    return judgeAnswer(answer, target, { saysWhy: false })
  }
}
