/**
 * Ingest by an agent: a whole body without a connection of its own, with an access token in place
 * of a key. It takes the path of all surfaces: budgets, caps, bytes in flight, batches, commit,
 * counted refusals.
 */
import { IngestError, OutcomeUnknownError } from '../../../errors.ts'
import { SEGMENT_EVENTS_MAX } from '../../../limits.ts'
import type { AgentEvents, AgentReport, IngestEvents } from '../../../model/batch/agent-events.ts'
import { formatEventId } from '../../../model/event-id.ts'
import { type CommittedPart, type Dialect, wholeBody } from '../../dialect.ts'
import { type BodyFormat, JSON_BODY, TEXT_BODY } from '../../framing/body-format.ts'
import type { IngestReport } from '../../ingest-report.ts'
import { type IngestDeps, ingest } from '../../request/ingest.ts'

export function agentIngest(deps: IngestDeps): IngestEvents {
  return ({ stream, kind, body, idempotencyKey: key, confirm }) => {
    return new Promise<AgentReport>((resolve, reject) => {
      ingest(deps, {
        dialect: agentDialect(kind),
        responder: {
          accept: (answer) => {
            resolve(JSON.parse(String(answer)))
            return 200
          },
          refuse: (error) => {
            reject(error)
            return 400
          },
          drop: () => reject(new OutcomeUnknownError()),
        },
        // Makes ingest check the token once more before the commit.
        sender: { stream, isCurrent: () => false, confirm: async () => void (await confirm()) },
        body: wholeBody(body),
        contentLength: body.length,
        contentEncoding: '',
        idempotencyKey: key === undefined ? undefined : { lines: 1, value: key },
      })
    })
  }
}

function agentDialect(kind: AgentEvents['kind']): Dialect {
  return {
    surface: 'agent',
    replyFormat: 'agent',
    plan: () => ({ format: agentFormat(kind) }),
    judge,
    answer: ({ accepted, rejected, errors }, parts) => {
      return JSON.stringify({ accepted, rejected, errors, event_ids: parts.flatMap(idsOf) })
    },
  }
}

/** Of what an agent sends. */
export function agentFormat(kind: AgentEvents['kind']): BodyFormat {
  return kind === 'text' ? TEXT_BODY : JSON_BODY
}

function judge(report: IngestReport): IngestError | undefined {
  if (report.fatal === undefined && report.accepted > 0) return undefined
  const first = report.firstFault
  if (first === undefined) return new IngestError('malformed', 'there is no event')
  return new IngestError('malformed', `nothing was stored; event ${first.index}: ${first.message}`)
}

function idsOf({ result, segmentIds, firstEvent }: CommittedPart): string[] {
  return Array.from({ length: result.accepted }, (_, index) => {
    const at = firstEvent + index
    const segmentId = segmentIds[Math.floor(at / SEGMENT_EVENTS_MAX)]!
    return formatEventId({ segmentId, ordinal: at % SEGMENT_EVENTS_MAX })
  })
}
