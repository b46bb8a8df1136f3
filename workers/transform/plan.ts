/**
 * The transforms of a stream, and their order, which is fixed here:
 *
 *   extract `log` → redact → parse user agents → event time → shape
 *
 * Extraction comes first so that redaction sees the keys inside; redaction before anything that
 * stores or shows. Event time and shape (`event-facts.ts`) read what the others left.
 *
 * A stream's settings are compiled once into a plan. Streams with equal settings share it.
 */
import { LRUCache } from 'lru-cache'
import type { AcceptedBatch } from '../../src/model/batch/accepted-batch.ts'
import type { TransformCounts } from '../../src/model/batch/encoded-batch.ts'
import type { TransformSettings } from '../../src/model/stream.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import type { EventBuffer } from '../tape/event-buffer.ts'
import { type JsonTape, TAPE_PADDING } from '../tape/json-tape.ts'
import { UserAgents } from './agents/user-agent.ts'
import { UserAgentFields } from './agents/user-agent-fields.ts'
import { Redaction } from './redact/redact.ts'
import { RedactKeys } from './redact/redact-keys.ts'
import { EventRewriter } from './rewrite/event-rewriter.ts'
import { extractLogs } from './rewrite/extract-log.ts'
import { NO_SECRET, SECRET_BYTES_MIN, SecretScanner } from './secrets/secrets.ts'

/** Transform settings that a worker keeps compiled; streams with the same ones share them. */
export const TRANSFORM_PLANS_MAX = 64

const REDACTED_NAME = '[REDACTED]'

/** What the transforms want to know of a batch. */
export type TransformOrigin = Pick<AcceptedBatch, 'streamId' | 'settings' | 'receivedAtMs'>

interface Plan {
  readonly keys: RedactKeys
  readonly redaction: Redaction
}

export interface TransformedBatch extends TransformCounts {
  /** What the events' positions and the tape refer to from now on. */
  readonly bytes: Uint8Array
}

/**
 * A worker's transforms. The state kept between batches only makes the next one faster, except for
 * the budget of user agents: a stream that has spent it gets no more siblings for a while.
 */
export class Transforms {
  readonly #rewriter = new EventRewriter()
  readonly #scanner = new SecretScanner()
  readonly #agents = new UserAgents()
  readonly #agentFields = new UserAgentFields()
  readonly #plans = new LRUCache<string, Plan>({
    max: TRANSFORM_PLANS_MAX,
    dispose: ({ keys }) => keys.dispose(),
  })

  /** Changes a batch's events in `buffer` as its stream's settings say, on the tape as well. */
  run(
    tape: JsonTape,
    events: DecodedEvents,
    buffer: EventBuffer,
    { streamId, settings, receivedAtMs }: TransformOrigin,
  ): TransformedBatch {
    if (events.count === 0) return { ...NO_COUNTS, bytes: buffer.bytes }
    const rewriter = this.#rewriter
    rewriter.begin(tape, events, buffer)
    const inputEnd = events.end[events.count - 1]!
    const eventsExtracted = extractLogs(tape, events, rewriter)
    const eventsRedacted = settings.redactSensitive
      ? this.#redact(tape, events, settings, inputEnd, eventsExtracted > 0)
      : 0
    const agents = this.#agents
    agents.begin(streamId, receivedAtMs)
    if (settings.parseUserAgents) this.#agentFields.run(tape, events, rewriter, agents)
    return {
      bytes: rewriter.bytes,
      eventsExtracted,
      eventsRedacted,
      userAgentHits: agents.hits,
      userAgentMisses: agents.misses,
      userAgentsSkipped: agents.skipped,
    }
  }

  /** Extracted events follow the others: two rounds, each in the order of the bytes. */
  #redact(
    tape: JsonTape,
    events: DecodedEvents,
    settings: TransformSettings,
    inputEnd: number,
    hasExtracted: boolean,
  ): number {
    const { keys, redaction } = this.#planOf(settings)
    const rewriter = this.#rewriter
    keys.begin(tape.trie)
    this.#scanner.begin(rewriter.written)
    if (events.given.any) this.#redactServices(events)
    const extractedEnd = rewriter.output.length
    const redacted = redaction.run(tape, events, rewriter, { start: 0, end: inputEnd })
    if (!hasExtracted) return redacted
    const range = { start: inputEnd, end: extractedEnd }
    return redacted + redaction.run(tape, events, rewriter, range)
  }

  /** Names that came with the protocol are in no payload; they are few in a batch. */
  #redactServices({ given: { services } }: DecodedEvents): void {
    for (const [number, name] of services.entries()) {
      const isSecret = name.length >= SECRET_BYTES_MIN && this.#isSecret(Buffer.from(name))
      if (isSecret) services[number] = Buffer.from(REDACTED_NAME)
    }
  }

  #isSecret(name: Buffer): boolean {
    const padded = Buffer.concat([name, Buffer.alloc(TAPE_PADDING)])
    return this.#scanner.scanCopy(padded, name.length) !== NO_SECRET
  }

  #planOf({ redactFields }: TransformSettings): Plan {
    const identity = redactFields.join('\0')
    const known = this.#plans.get(identity)
    if (known !== undefined) return known
    const keys = new RedactKeys(redactFields)
    const plan = { keys, redaction: new Redaction(keys, this.#scanner) }
    this.#plans.set(identity, plan)
    return plan
  }
}

const NO_COUNTS: TransformCounts = {
  eventsExtracted: 0,
  eventsRedacted: 0,
  userAgentHits: 0,
  userAgentMisses: 0,
  userAgentsSkipped: 0,
}
