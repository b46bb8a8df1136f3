/**
 * Loki's push API (grafana.com/docs/loki, HTTP API, 3.x): `POST /loki/api/v1/push`. The tenant
 * (`X-Scope-OrgID`) means nothing here: the key says which stream of ours an event goes to.
 *
 * Loki answers 400 where it stored a part. Some senders would then send the whole again, and it
 * would be stored twice. So such a request is answered 200 with a text, which no sender repeats:
 * those that know only 204 tell of it.
 */

import type { RouteDescription } from '../../../api/route-description.ts'
import { IngestError, senderStatus } from '../../../errors.ts'
import { mediaTypeOf } from '../../../http/body.ts'
import type { Exchange, Handler, Reply } from '../../../http/exchange.ts'
import { jsonReply } from '../../../http/problem.ts'
import { anyKey } from '../../admission/presented-key.ts'
import type { Answer, BodyPlan, HttpDialect } from '../../dialect.ts'
import { type IngestReport, refusalFor } from '../../ingest-report.ts'
import { ingestHandler } from '../../request/ingest-handler.ts'
import { compatible, describeIngest } from '../descriptions.ts'
import type { Surface } from '../surface.ts'
import { LOKI_JSON_BODY, LOKI_PROTOBUF_BODY } from './loki-formats.ts'

const PUSH = '/loki/api/v1/push'
const BUILD_INFO = '/loki/api/v1/status/buildinfo'
/** The Loki whose push API this is; its clients look for what they may send. */
const LOKI_VERSION = '3.0.0'
const JSON_TYPE = 'application/json'
const PROTOBUF_TYPE = 'application/x-protobuf'
const CHALLENGE = ['WWW-Authenticate', 'Basic realm="sluice", charset="UTF-8"'] as const

export const lokiSurface: Surface = ({ deps }) => {
  const push = ingestHandler(deps, (exchange) => new LokiDialect(exchange))
  const info = {
    ...compatible('GET', BUILD_INFO, {
      tag: 'Loki',
      credential: 'none',
      summary: 'Says which version of Loki it takes the place of',
    }),
  }
  return {
    routes: [
      { method: 'POST', pattern: PUSH, isLoose: true, description: PUSHED, handler: push },
      { method: 'GET', pattern: BUILD_INFO, isLoose: true, description: info, handler: buildInfo },
    ],
  }
}

const PUSHED: RouteDescription = {
  ...describeIngest('ingestLoki', 'Ingest streams of Loki', {
    [PROTOBUF_TYPE]: { description: 'PushRequest, in raw snappy' },
    [JSON_TYPE]: { description: '{"streams": [{"stream": {}, "values": [["0", "line", {}]]}]}' },
  }),
  description: 'The key may also come as `Authorization: Bearer`, or as the password of `Basic`.',
  answers: {
    200: {
      description: 'Stored but for entries that were rejected; the text says how many, and why',
      content: { 'text/plain': { type: 'string' } },
    },
    204: { description: 'Stored' },
  },
}

const buildInfo: Handler = (exchange) => {
  const unknown = { revision: '', branch: '', buildUser: '', buildDate: '', goVersion: '' }
  exchange.reply(jsonReply(200, { version: LOKI_VERSION, ...unknown }))
}

class LokiDialect implements HttpDialect {
  readonly surface = 'loki'
  readonly replyFormat = 'loki'
  readonly apiKey: string
  readonly #mediaType: string
  refusalReason: string | undefined

  constructor(exchange: Exchange) {
    this.apiKey = anyKey(exchange)
    this.#mediaType = mediaTypeOf(exchange.header('content-type'))
  }

  plan(): BodyPlan {
    if (this.#mediaType === JSON_TYPE) return { format: LOKI_JSON_BODY }
    // Loki's own default; some of its clients say what protobuf is always compressed with.
    if (this.#mediaType === PROTOBUF_TYPE || this.#mediaType === '') {
      return { format: LOKI_PROTOBUF_BODY, ownEncoding: 'snappy' }
    }
    if (this.#mediaType === 'text/plain') this.refusalReason = 'plain_text_not_accepted'
    throw new IngestError('unsupported_media_type', `send ${PROTOBUF_TYPE} or ${JSON_TYPE}`)
  }

  /** A request without an entry is none to complain of. */
  judge(report: IngestReport): IngestError | undefined {
    const { fatal, accepted, rejected } = report
    if (fatal !== undefined) return refusalFor(fatal)
    if (accepted > 0 || rejected === 0) return undefined
    return new IngestError('malformed', `nothing was stored; ${told(report)}`)
  }

  answer(report: IngestReport): Answer {
    return report.rejected === 0 ? '' : `stored ${report.accepted} entries; ${told(report)}\n`
  }

  acceptedReply(answer: Answer): Reply {
    return answer === '' ? { status: 204 } : textReply(200, String(answer))
  }

  refusedReply(error: IngestError): Reply {
    const isInternal = error.code === 'internal'
    const message = isInternal ? 'the server failed; its log has the details' : error.message
    const headers: (readonly [string, string])[] = []
    const { retrySeconds } = error
    if (retrySeconds !== undefined) headers.push(['Retry-After', String(retrySeconds)])
    if (error.code === 'unauthenticated') headers.push(CHALLENGE)
    return { ...textReply(senderStatus(error), `${message}\n`), headers }
  }
}

/** How many entries were rejected, and why the first ones. */
function told({ rejected, errors }: IngestReport): string {
  const first = errors.slice(0, 3).map(({ message }) => message)
  const more = rejected > first.length ? '; …' : ''
  return `${rejected} were rejected: ${first.join('; ')}${more}`
}

/** As Go's `http.Error` writes it. */
function textReply(status: number, body: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', body }
}
