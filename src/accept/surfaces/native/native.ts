/** Native ingest: `POST /v1/ingest` (JSON, NDJSON), `POST /v1/ingest/text` (one event per line). */
import { IngestError } from '../../../errors.ts'
import { mediaTypeOf } from '../../../http/body.ts'
import type { Exchange, Reply, Route } from '../../../http/exchange.ts'
import { problemReply } from '../../../http/problem.ts'
import type { Answer, BodyPlan, HttpDialect } from '../../dialect.ts'
import type { BodyKind } from '../../framing/body-framer.ts'
import type { IngestReport } from '../../ingest-report.ts'
import type { IngestDeps } from '../../request/ingest.ts'
import { ingestHandler } from '../../request/ingest-handler.ts'
import { NATIVE_JSON, NATIVE_TEXT } from '../descriptions.ts'

const NDJSON_TYPES = ['application/x-ndjson', 'application/jsonl', 'application/stream+json']

export function nativeIngestRoutes(deps: IngestDeps): Route[] {
  return [
    {
      method: 'POST',
      pattern: '/v1/ingest',
      isLoose: true,
      description: NATIVE_JSON,
      handler: ingestHandler(deps, (exchange) => new NativeDialect(exchange, 'native')),
    },
    {
      method: 'POST',
      pattern: '/v1/ingest/text',
      isLoose: true,
      description: NATIVE_TEXT,
      handler: ingestHandler(deps, (exchange) => new NativeDialect(exchange, 'text')),
    },
  ]
}

class NativeDialect implements HttpDialect {
  readonly surface: 'native' | 'text'
  readonly answerForm: 'native' | 'text'
  readonly apiKey: string
  readonly #contentType: string
  refusalReason: string | undefined

  constructor(exchange: Exchange, surface: 'native' | 'text') {
    this.surface = surface
    this.answerForm = surface
    this.apiKey = exchange.header('x-api-key')
    this.#contentType = exchange.header('content-type')
  }

  plan(): BodyPlan {
    return { kind: this.#bodyKind(mediaTypeOf(this.#contentType)) }
  }

  #bodyKind(mediaType: string): BodyKind {
    if (this.surface === 'text') {
      if (mediaType === 'text/plain') return 'text'
      throw new IngestError('unsupported_media_type', 'send text as text/plain')
    }
    if (mediaType === 'application/json') return 'json'
    if (NDJSON_TYPES.includes(mediaType)) return 'ndjson'
    // Text sent where JSON is expected has a reason of its own (spec, Errors 1).
    this.refusalReason = 'plain_text_not_accepted'
    const text = `send application/json or ${NDJSON_TYPES.join(', ')}; text goes to /v1/ingest/text`
    throw new IngestError('unsupported_media_type', text)
  }

  judge(report: IngestReport): IngestError | undefined {
    if (report.fatal === undefined && report.accepted > 0) return undefined
    const first = report.fatal ?? report.errors[0]
    if (first === undefined) return new IngestError('malformed', 'the body holds no event')
    const where = `event ${first.index}, line ${first.line}: ${first.message}`
    return new IngestError('malformed', `nothing was stored; ${where}`)
  }

  answer(report: IngestReport): Answer {
    return report.body
  }

  acceptedReply(answer: Answer): Reply {
    return { status: 200, contentType: 'application/json', body: answer }
  }

  refusedReply(error: IngestError, report: IngestReport | undefined): Reply {
    if (report !== undefined) {
      const { rejected, fatal, errors } = report
      const shown = fatal === undefined ? errors : [fatal]
      return problemReply(error, { accepted: 0, rejected, errors: shown })
    }
    const isMalformed = error.code === 'malformed'
    return problemReply(error, isMalformed ? { accepted: 0, rejected: 0, errors: [] } : undefined)
  }
}
