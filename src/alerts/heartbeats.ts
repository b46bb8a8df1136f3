/**
 * Calls the URLs of heartbeats once a minute, on the node that evaluates, while it does: whoever
 * waits for them is told by their silence that rules are not decided, whatever the reason.
 */
import { ALERT_HEARTBEAT_LATE_MS } from '../limits.ts'
import type { DueHeartbeat } from '../store/alerts/alert-counts.ts'
import { beat } from './channels/heartbeat.ts'
import type { Post } from './channels/send-answer.ts'
import { repeat } from './repeat.ts'

export const HEARTBEAT_MS = 60_000
const SENT_AT_ONCE = 16

export type HeartbeatOutcome = 'sent' | 'failed' | 'held'

export interface HeartbeatParts {
  readonly readDue: (lateMs: number) => Promise<readonly DueHeartbeat[]>
  /** This node evaluates, and looked for due windows a moment ago. */
  readonly isAlive: () => boolean
  readonly post: Post
  /** `held`: on purpose, as the owner's rules are late. */
  readonly onOutcome: (outcome: HeartbeatOutcome) => void
  readonly onError: (cause: unknown, failures: number) => void
}

export class Heartbeats {
  readonly #parts: HeartbeatParts
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: HeartbeatParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running = repeat({
      signal: this.#stopping.signal,
      everyMs: HEARTBEAT_MS,
      round: async () => {
        await this.round()
        return false
      },
      onError: this.#parts.onError,
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async round(): Promise<void> {
    const { readDue, isAlive, onOutcome } = this.#parts
    if (!isAlive()) return
    const due = await readDue(ALERT_HEARTBEAT_LATE_MS)
    const inTime = due.filter(({ isLate }) => !isLate)
    for (let count = inTime.length; count < due.length; count++) onOutcome('held')
    for (let at = 0; at < inTime.length; at += SENT_AT_ONCE) {
      const some = inTime.slice(at, at + SENT_AT_ONCE)
      await Promise.all(some.map((each) => this.#send(each)))
    }
  }

  async #send({ target }: DueHeartbeat): Promise<void> {
    const { post, onOutcome } = this.#parts
    const { signal } = this.#stopping
    const answer = await beat(post, target, signal).catch(() => undefined)
    if (!signal.aborted) onOutcome(answer?.outcome === 'delivered' ? 'sent' : 'failed')
  }
}
