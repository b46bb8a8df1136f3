/**
 * OTLP logs over HTTP (opentelemetry.io/docs/specs/otlp, 1.11): `POST /v1/otlp/v1/logs`, which
 * collectors are configured with as the endpoint `/v1/otlp`, and the protocol's own `/v1/logs`.
 * Paths of other signals answer "not implemented", so that exporters stop.
 */
import type { RouteDescription } from '../../../api/route-description.ts'
import type { Schema } from '../../../api/schema.ts'
import { IngestError, senderStatus } from '../../../errors.ts'
import { mediaTypeOf } from '../../../http/body.ts'
import type { Exchange, Handler, Reply, Route } from '../../../http/exchange.ts'
import { headerOrBearerKey } from '../../admission/presented-key.ts'
import type { Answer, BodyPlan, HttpDialect } from '../../dialect.ts'
import { ingestHandler } from '../../request/ingest-handler.ts'
import { compatible, describeIngest } from '../descriptions.ts'
import type { Surface } from '../surface.ts'
import { OTLP_JSON_BODY, OTLP_PROTOBUF_BODY } from './otlp-formats.ts'
import { OTLP_CONTENT_TYPES, type OtlpEncoding, otlpError, otlpStatus } from './otlp-reply.ts'
import { answerOtlp, encodeOtlpAnswer, judgeOtlp } from './otlp-terms.ts'

const LOGS = ['/v1/otlp/v1/logs', '/v1/logs']
const OTHER_SIGNALS = ['traces', 'metrics', 'profiles']

export const otlpSurface: Surface = ({ deps }) => {
  const logs = ingestHandler(deps, (exchange) => new OtlpDialect(exchange))
  const routes: Route[] = LOGS.map((pattern, index) => {
    const description = otlpLogs(index === 0 ? 'ingestOtlpLogs' : 'ingestOtlpLogsAlias')
    return { method: 'POST', pattern, isLoose: true, description, handler: logs }
  })
  for (const signal of OTHER_SIGNALS) {
    for (const root of ['/v1/otlp/v1', '/v1']) {
      const pattern = `${root}/${signal}`
      const summary = `Refuses ${signal}: only logs are accepted`
      const about = { tag: 'OTLP', credential: 'none', summary } as const
      const description = compatible('POST', pattern, about)
      const handler = replyNotImplemented
      routes.push({ method: 'POST', pattern, isLoose: true, description, handler })
    }
  }
  return { routes }
}

/** OTLP logs at one of its paths. */
function otlpLogs(operationId: string): RouteDescription {
  const form: Schema = { description: 'ExportLogsServiceRequest' }
  const answer: Schema = { description: 'ExportLogsServiceResponse' }
  return {
    ...describeIngest(operationId, 'Ingest OTLP logs', {
      'application/x-protobuf': form,
      'application/json': form,
    }),
    description: 'The key may also come as `Authorization: Bearer`.',
    answers: {
      200: {
        description: 'Stored',
        content: { 'application/x-protobuf': answer, 'application/json': answer },
      },
    },
  }
}

/** A request of neither type gets its error as JSON. */
function encodingOf(mediaType: string): OtlpEncoding {
  return mediaType === OTLP_CONTENT_TYPES.protobuf ? 'protobuf' : 'json'
}

class OtlpDialect implements HttpDialect {
  readonly surface = 'otlp'
  readonly replyFormat = 'otlp'
  readonly apiKey: string
  readonly #mediaType: string
  readonly #encoding: OtlpEncoding
  refusalReason: string | undefined

  constructor(exchange: Exchange) {
    this.apiKey = headerOrBearerKey(exchange)
    this.#mediaType = mediaTypeOf(exchange.header('content-type'))
    this.#encoding = encodingOf(this.#mediaType)
  }

  plan(): BodyPlan {
    const { protobuf, json } = OTLP_CONTENT_TYPES
    if (this.#mediaType === protobuf) return { format: OTLP_PROTOBUF_BODY }
    if (this.#mediaType === json) return { format: OTLP_JSON_BODY }
    if (this.#mediaType === 'text/plain') this.refusalReason = 'plain_text_not_accepted'
    throw new IngestError('unsupported_media_type', `send ${protobuf} or ${json}`)
  }

  judge = judgeOtlp
  answer = answerOtlp

  acceptedReply(answer: Answer): Reply {
    return this.#reply(200, encodeOtlpAnswer(this.#encoding, answer))
  }

  refusedReply(error: IngestError): Reply {
    const isInternal = error.code === 'internal'
    const told = isInternal ? new IngestError('internal', 'the server failed') : error
    const { retrySeconds } = error
    const headers: (readonly [string, string])[] = []
    if (retrySeconds !== undefined) headers.push(['Retry-After', String(retrySeconds)])
    if (error.code === 'unauthenticated') headers.push(CHALLENGE)
    const reply = this.#reply(senderStatus(error), otlpError(this.#encoding, told))
    return { ...reply, headers }
  }

  #reply(status: number, body: Uint8Array): Reply {
    return { status, contentType: OTLP_CONTENT_TYPES[this.#encoding], body }
  }
}

const CHALLENGE = ['WWW-Authenticate', 'Bearer realm="sluice"'] as const
const NOT_IMPLEMENTED = 501

const replyNotImplemented: Handler = (exchange) => {
  const encoding = encodingOf(mediaTypeOf(exchange.header('content-type')))
  exchange.reply({
    status: NOT_IMPLEMENTED,
    contentType: OTLP_CONTENT_TYPES[encoding],
    body: otlpStatus(encoding, NOT_IMPLEMENTED, 'only logs are accepted: send them to /v1/logs'),
  })
}
