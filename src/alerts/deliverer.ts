/**
 * Makes messages of what was decided, and sends them: at least once, each always under the same
 * Idempotency-Key and with the same alerts, and of one rule and channel in their order. What may
 * work later is tried for a day, after pauses of 1 s to 5 min; anything else is dead at once, is
 * listed, and can be sent again.
 */
import { ALERT_DELIVERY_MS_MAX } from '../limits.ts'
import type { DueMessage, OutboxStore } from '../store/alerts/outbox-store.ts'
import type { QueueFacts } from '../store/alerts/queue-facts.ts'
import type { QueueStore } from '../store/alerts/queue-store.ts'
import { StoreError } from '../store/store-error.ts'
import { AddressRefusedError } from './allowed-address.ts'
import type { SendAnswer, SendMessage } from './channels/send-answer.ts'
import { planMessages } from './messages/plan-messages.ts'
import { repeat } from './repeat.ts'
import { isOverdue, problemOf } from './rule-settings.ts'
import { messageOf, webhookBody } from './webhook-body.ts'

const ROUND_MS = 1_000
/** Messages of one round; those of different groups are sent at the same time. */
const SENT_AT_ONCE = 16
/** Rules and channels of one round that are looked at for something to tell, one after another. */
const LOOKED_AT_MAX = 64
/** What cannot be looked at is tried again after this. */
const LOOK_AGAIN_MS = 60_000
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 300_000
const RETRY_AFTER_MS_MAX = 3_600_000

export type DeliveryOutcome = 'delivered' | 'retry' | 'dead'

export interface DelivererParts {
  readonly queues: Pick<QueueStore, 'readDue' | 'look' | 'postpone'>
  readonly outbox: Pick<OutboxStore, 'readDue' | 'finish' | 'setDelivered' | 'setDead' | 'retryIn'>
  /** The text of a message with its sample events. */
  readonly addSamples: (message: DueMessage, signal: AbortSignal) => Promise<string>
  /** Where people reach the service; undefined: nobody knows. */
  readonly publicUrl: string | undefined
  readonly isWorker: () => boolean
  readonly send: SendMessage
  readonly onOutcome: (outcome: DeliveryOutcome) => void
  readonly onError: (cause: unknown, failures: number) => void
}

/** What became of a try. */
type Result =
  | { readonly outcome: 'delivered'; readonly error?: string | undefined }
  | { readonly outcome: 'dead'; readonly error: string }
  | { readonly outcome: 'retry'; readonly error: string; readonly afterMs: number }

export class Deliverer {
  readonly #parts: DelivererParts
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: DelivererParts) {
    this.#parts = parts
  }

  start(): void {
    const { isWorker, onError } = this.#parts
    this.#running = repeat({
      signal: this.#stopping.signal,
      everyMs: ROUND_MS,
      round: async () => isWorker() && (await this.round()) > 0,
      onError,
    })
  }

  /** What is under way is broken off, and sent again by whoever goes on. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  /** Tells what there is to tell, and tries what is due; how much that was. */
  async round(): Promise<number> {
    const made = await this.#makeMessages()
    const due = await this.#parts.outbox.readDue(SENT_AT_ONCE)
    // All of them end before the round does: what is under way is not begun again beside it.
    const ended = await Promise.allSettled(due.map((message) => this.#deliver(message)))
    const failed = ended.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
    return made + due.length
  }

  async #makeMessages(): Promise<number> {
    const { queues, publicUrl, onError } = this.#parts
    let made = 0
    for (const key of await queues.readDue(LOOKED_AT_MAX)) {
      if (this.#stopping.signal.aborted) break
      try {
        made += await queues.look(key, (facts) => {
          return planMessages(facts, { isCurrent: isCurrent(facts), publicUrl })
        })
      } catch (cause) {
        if (cause instanceof StoreError) throw cause
        // It holds up nobody else.
        onError(cause, 1)
        await queues.postpone(key, LOOK_AGAIN_MS)
      }
    }
    return made
  }

  async #deliver(due: DueMessage): Promise<void> {
    const { outbox, onOutcome } = this.#parts
    const { messageId } = due
    const message = await this.#finished(due)
    const result = await this.#try(message)
    if (this.#stopping.signal.aborted && result.outcome !== 'delivered') return
    if (result.outcome === 'delivered') await outbox.setDelivered(messageId, result.error)
    else if (result.outcome === 'dead') await outbox.setDead(messageId, result.error)
    else await outbox.retryIn(messageId, result.afterMs, result.error)
    onOutcome(result.outcome)
  }

  /** Before the first try, so that all say the same: what was stored first counts. */
  async #finished(message: DueMessage): Promise<DueMessage> {
    if (message.isFinal || message.target === undefined) return message
    const { outbox, addSamples } = this.#parts
    const content = await addSamples(message, this.#stopping.signal)
    return { ...message, content: await outbox.finish(message.messageId, content), isFinal: true }
  }

  async #try(message: DueMessage): Promise<Result> {
    const { target, attempts, ageMs } = message
    if (target === undefined) return { outcome: 'dead', error: 'there is no channel of this name' }
    try {
      const { signal } = this.#stopping
      const text = webhookBody(message)
      const sent = await this.#parts.send(target, messageOf(text), signal, text)
      return judge(sent, attempts, ageMs)
    } catch (cause) {
      const error = cause instanceof Error ? cause.message : 'no answer'
      if (cause instanceof AddressRefusedError) return { outcome: 'dead', error }
      return later(error, attempts, ageMs)
    }
  }
}

/** What is known of a rule's groups is of now, or nobody will know better soon. */
function isCurrent({ rule, nowMs }: QueueFacts): boolean {
  if (rule === undefined) return false
  return rule.isTold || !isOverdue(rule, nowMs) || problemOf(rule.settings) !== undefined
}

function judge(answer: SendAnswer, attempts: number, ageMs: number): Result {
  const { outcome, error = 'no answer', retryAfterS = 0 } = answer
  if (outcome === 'delivered') return { outcome, error: answer.error }
  if (outcome === 'refused') return { outcome: 'dead', error }
  return later(error, attempts, ageMs, Math.min(RETRY_AFTER_MS_MAX, retryAfterS * 1_000))
}

function later(error: string, attempts: number, ageMs: number, askedMs = 0): Result {
  if (ageMs >= ALERT_DELIVERY_MS_MAX) return { outcome: 'dead', error }
  const pauseMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(20, attempts))
  return { outcome: 'retry', error, afterMs: Math.max(pauseMs, askedMs) }
}
