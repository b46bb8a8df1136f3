/** Native ingest: `POST /v1/ingest` (JSON, NDJSON), `POST /v1/ingest/text` (one event per line). */
import type { RouteDescription } from '../../../api/route-description.ts'
import type { Schema } from '../../../api/schema.ts'
import { IngestError } from '../../../errors.ts'
import { mediaTypeOf } from '../../../http/body.ts'
import type { Exchange, Reply } from '../../../http/exchange.ts'
import { problemReply } from '../../../http/problem.ts'
import type { Answer, BodyPlan, HttpDialect } from '../../dialect.ts'
import { type BodyFormat, JSON_BODY, NDJSON_BODY, TEXT_BODY } from '../../framing/body-format.ts'
import type { IngestReport } from '../../ingest-report.ts'
import { ingestHandler } from '../../request/ingest-handler.ts'
import { describeIngest, EVENT_SCHEMA } from '../descriptions.ts'
import type { Surface } from '../surface.ts'

const NDJSON_TYPES = ['application/x-ndjson', 'application/jsonl', 'application/stream+json']

const LINES: Schema = { type: 'string', description: 'One object per line' }
const NATIVE_JSON = describeIngest('ingestJson', 'Ingest JSON events', {
  'application/json': { anyOf: [EVENT_SCHEMA, { type: 'array', items: EVENT_SCHEMA }] },
  'application/x-ndjson': LINES,
  'application/jsonl': LINES,
  'application/stream+json': LINES,
})
const NATIVE_TEXT = describeIngest('ingestText', 'Ingest lines of text, one event per line', {
  'text/plain': { type: 'string' },
})

export const nativeSurface: Surface = ({ deps }) => {
  const post = (pattern: string, description: RouteDescription, surface: 'native' | 'text') => {
    const handler = ingestHandler(deps, (exchange) => new NativeDialect(exchange, surface))
    return { method: 'POST', pattern, isLoose: true, description, handler } as const
  }
  return {
    routes: [
      post('/v1/ingest', NATIVE_JSON, 'native'),
      post('/v1/ingest/text', NATIVE_TEXT, 'text'),
    ],
  }
}

class NativeDialect implements HttpDialect {
  readonly surface: 'native' | 'text'
  readonly replyFormat: 'native' | 'text'
  readonly apiKey: string
  readonly #contentType: string
  refusalReason: string | undefined

  constructor(exchange: Exchange, surface: 'native' | 'text') {
    this.surface = surface
    this.replyFormat = surface
    this.apiKey = exchange.header('x-api-key')
    this.#contentType = exchange.header('content-type')
  }

  plan(): BodyPlan {
    return { format: this.#bodyFormat(mediaTypeOf(this.#contentType)) }
  }

  #bodyFormat(mediaType: string): BodyFormat {
    if (this.surface === 'text') {
      if (mediaType === 'text/plain') return TEXT_BODY
      throw new IngestError('unsupported_media_type', 'send text as text/plain')
    }
    if (mediaType === 'application/json') return JSON_BODY
    if (NDJSON_TYPES.includes(mediaType)) return NDJSON_BODY
    // Text sent where JSON is expected has a reason of its own (spec, Errors 1).
    this.refusalReason = 'plain_text_not_accepted'
    const text = `send application/json or ${NDJSON_TYPES.join(', ')}; text goes to /v1/ingest/text`
    throw new IngestError('unsupported_media_type', text)
  }

  judge(report: IngestReport): IngestError | undefined {
    if (report.fatal === undefined && report.accepted > 0) return undefined
    const first = report.firstFault
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
