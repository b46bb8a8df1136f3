/**
 * Writes what became of alerts as events into the owner's stream `_alerts`, so that it is searched,
 * charted and tailed like any other.
 *
 * All of one decision is one request of ingest, under an Idempotency-Key that is the same for each
 * try. So it is stored once, unless between the commit of the events and the note that they are
 * there nothing runs for longer than keys are remembered.
 */
import { IngestError } from '../errors.ts'
import type { IngestEvents } from '../model/batch/agent-events.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Stream } from '../model/stream.ts'
import { readNewSettings } from '../read/stream-settings.ts'
import type { Transition, TransitionStore } from '../store/alerts/transition-store.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import { repeat } from './repeat.ts'
import { ALERTS_STREAM } from './rule-streams.ts'

const ROUND_MS = 1_000
const RETRY_MS_MAX = 60_000

export interface PublisherParts {
  readonly store: Pick<TransitionStore, 'readUnpublished' | 'setPublished'>
  /** Whether this node evaluates: then it publishes as well. */
  readonly isWorker: () => boolean
  readonly control: Pick<ControlStore, 'findStreamNamed' | 'createStream'>
  readonly ingest: IngestEvents
  readonly onError: (cause: unknown, failures: number) => void
}

export class TransitionPublisher {
  readonly #parts: PublisherParts
  readonly #stopping = new AbortController()
  /** Owners whose events were refused: how often in a row, and until when they rest. */
  readonly #resting = new Map<string, { readonly failures: number; readonly untilMs: number }>()
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: PublisherParts) {
    this.#parts = parts
  }

  start(): void {
    const { isWorker, onError } = this.#parts
    this.#running = repeat({
      signal: this.#stopping.signal,
      everyMs: ROUND_MS,
      round: async () => isWorker() && (await this.publishNext()),
      onError,
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  /**
   * The oldest decision that is not published; false when there is none. What is refused, as of an
   * owner whose stream is full, rests a while and holds up nobody else.
   */
  async publishNext(): Promise<boolean> {
    const { store, ingest, onError } = this.#parts
    const nowMs = performance.now()
    const resting = [...this.#resting].filter(([, { untilMs }]) => untilMs > nowMs)
    const some = await store.readUnpublished(resting.map(([owner]) => owner))
    const [first] = some
    if (first === undefined) return false
    const { owner } = first
    try {
      await ingest({
        stream: await this.#streamOf(owner),
        kind: 'json',
        body: Buffer.from(JSON.stringify(some.map(eventOf))),
        idempotencyKey: `sluice-alert-transitions-${first.transitionId}`,
        confirm: async () => {
          if (this.#stopping.signal.aborted) throw new IngestError('unavailable', 'stopping')
        },
      })
    } catch (cause) {
      const failures = (this.#resting.get(owner)?.failures ?? 0) + 1
      const restMs = Math.min(RETRY_MS_MAX, ROUND_MS * 2 ** Math.min(10, failures))
      this.#resting.set(owner, { failures, untilMs: nowMs + restMs })
      if (!this.#stopping.signal.aborted) onError(cause, failures)
      return true
    }
    await store.setPublished(some.map(({ transitionId }) => transitionId))
    this.#resting.delete(owner)
    return true
  }

  async #streamOf(owner: string): Promise<Stream> {
    const { control } = this.#parts
    const found = await control.findStreamNamed(owner, ALERTS_STREAM)
    if (found !== undefined) return found
    return await control.createStream(owner, readNewSettings({ name: ALERTS_STREAM }))
  }
}

/** As it is searched. */
export function eventOf(transition: Transition): object {
  const { kind, reason, groupJson, value, events, fingerprint } = transition
  return {
    timestamp: formatTimeMs(transition.decidedAtMs),
    level: kind === 'firing' || kind === 'gap' || kind === 'evaluation_failing' ? 'warn' : 'info',
    message: `${transition.ruleName}: ${kind}${reason === undefined ? '' : ` (${reason})`}`,
    rule: {
      id: String(transition.ruleId),
      name: transition.ruleName,
      version: transition.ruleVersion,
    },
    kind,
    ...(reason !== undefined && { reason }),
    ...(groupJson !== undefined && { group: groupJson, fingerprint }),
    window: { from: formatTimeMs(transition.fromMs), to: formatTimeMs(transition.untilMs) },
    ...(value !== undefined && { value }),
    ...(events !== undefined && { event_count: events }),
    transition_id: transition.transitionId,
  }
}
