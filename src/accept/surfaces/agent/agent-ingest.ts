/**
 * Ingest by an agent: a request without a connection of its own, with an access token in place of a
 * key. It takes the same path as all surfaces (`ingest-handler.ts`): budgets, caps, bytes in
 * flight, batches, commit, counted refusals.
 */
import { IngestError, OutcomeUnknownError } from '../../../errors.ts'
import type { BodyConsumer, Exchange, Reply } from '../../../http/exchange.ts'
import { NO_STREAM } from '../../../http/reply-stream.ts'
import { SEGMENT_EVENTS_MAX } from '../../../limits.ts'
import type { AgentEvents, AgentReport, IngestEvents } from '../../../model/batch/agent-events.ts'
import { formatEventId } from '../../../model/event-id.ts'
import type { BodyPlan, Dialect, PlacedPart } from '../../dialect.ts'
import type { IngestReport } from '../../ingest-report.ts'
import { type IngestDeps, ingestHandler } from '../../request/ingest-handler.ts'

export function agentIngest(deps: IngestDeps): IngestEvents {
  return (events) => {
    return new Promise((resolve, reject) => {
      const { stream, confirm } = events
      const key = { keyId: 0, stream, prefix: '', changesBefore: 0 }
      const credentials: IngestDeps['credentials'] = {
        tryResolveKey: () => key,
        resolveKey: () => Promise.resolve(key),
        // Makes ingest check the token once more before the commit.
        isCurrent: () => false,
        confirm: async () => void (await confirm()),
      }
      const dialect = new AgentDialect(events, resolve, reject)
      const exchange = new InnerExchange(events, () => reject(new OutcomeUnknownError()))
      void ingestHandler({ ...deps, credentials }, () => dialect)(exchange)
    })
  }
}

class AgentDialect implements Dialect {
  readonly surface = 'agent'
  readonly answerForm = 'agent'
  readonly apiKey = ''
  readonly #kind: 'json' | 'text'
  readonly #resolve: (report: AgentReport) => void
  readonly #reject: (error: IngestError) => void

  constructor(
    { kind }: AgentEvents,
    resolve: (report: AgentReport) => void,
    reject: (error: IngestError) => void,
  ) {
    this.#kind = kind
    this.#resolve = resolve
    this.#reject = reject
  }

  plan(): BodyPlan {
    return { kind: this.#kind }
  }

  judge(report: IngestReport): IngestError | undefined {
    if (report.fatal === undefined && report.accepted > 0) return undefined
    const first = report.fatal ?? report.errors[0]
    if (first === undefined) return new IngestError('malformed', 'there is no event')
    return new IngestError(
      'malformed',
      `nothing was stored; event ${first.index}: ${first.message}`,
    )
  }

  answer({ accepted, rejected, errors }: IngestReport, parts: readonly PlacedPart[]): string {
    return JSON.stringify({ accepted, rejected, errors, event_ids: parts.flatMap(idsOf) })
  }

  acceptedReply(answer: string | Uint8Array): Reply {
    this.#resolve(JSON.parse(Buffer.from(answer).toString()))
    return { status: 200 }
  }

  refusedReply(error: IngestError): Reply {
    this.#reject(error)
    return { status: 400 }
  }
}

function idsOf({ result, segmentIds, firstEvent }: PlacedPart): string[] {
  return Array.from({ length: result.accepted }, (_, index) => {
    const at = firstEvent + index
    const segmentId = segmentIds[Math.floor(at / SEGMENT_EVENTS_MAX)]!
    return formatEventId({ segmentId, ordinal: at % SEGMENT_EVENTS_MAX })
  })
}

/** A request whose body is there already, and whose reply goes by the dialect. */
class InnerExchange implements Exchange {
  readonly method = 'POST'
  readonly path = '/mcp'
  readonly queryString = ''
  readonly #events: AgentEvents
  readonly #onDrop: () => void

  constructor(events: AgentEvents, onDrop: () => void) {
    this.#events = events
    this.#onDrop = onDrop
  }

  get aborted(): boolean {
    return this.#events.signal.aborted
  }

  param(): string {
    return ''
  }

  header(name: string): string {
    if (name === 'content-length') return String(this.#events.body.length)
    return name === 'idempotency-key' ? (this.#events.idempotencyKey ?? '') : ''
  }

  headerLines(name: string): number {
    return name === 'idempotency-key' && this.#events.idempotencyKey !== undefined ? 1 : 0
  }

  readBody(consumer: BodyConsumer): void {
    consumer.chunk(this.#events.body, true)
  }

  // A caller that goes away changes nothing: its request is stored, or not, as a whole.
  onAborted(): void {}

  pause(): void {}

  resume(): void {}

  reply(): void {}

  stream() {
    return NO_STREAM
  }

  drop(): void {
    this.#onDrop()
  }
}
