/** A dead man's switch: its URL is called while rules are decided in time. */
import type { ChannelTarget } from '../../store/alerts/channel-store.ts'
import { judgeAnswer, type Post, type SendAnswer, type SendMessage } from './send-answer.ts'

/** Messages other than tests are refused: rules name channels that tell people. */
export function heartbeatSender(post: Post): SendMessage {
  return async (target, { reason }, signal) => {
    if (reason === 'test') return await beat(post, target, signal)
    return { outcome: 'refused', error: 'a channel of the kind heartbeat is told of no alerts' }
  }
}

/** Rejects with `AddressRefusedError`, or when there is no answer. */
export async function beat(
  post: Post,
  target: ChannelTarget,
  signal: AbortSignal,
): Promise<SendAnswer> {
  const { url, allowsPrivate } = target
  const headers = { 'User-Agent': 'sluice' }
  return judgeAnswer(await post({ url, allowsPrivate, headers, body: undefined }, signal), target)
}
