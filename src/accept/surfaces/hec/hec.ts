/**
 * Splunk's HTTP Event Collector: `POST /services/collector[/event[/1.0]]` with envelopes and
 * `/services/collector/raw[/1.0]` with lines. Any media type: its clients send several, and none.
 *
 * Where an envelope is broken nothing of the request is stored; Splunk stores what is before it.
 * An event that is too large or too deep is rejected alone, for HEC has no answer for a part.
 */
import type { RouteDescription } from '../../../api/route-description.ts'
import { IngestError } from '../../../errors.ts'
import type { Exchange, Handler, Reply, Route } from '../../../http/exchange.ts'
import type { Answer, BodyPlan, HttpDialect } from '../../dialect.ts'
import { type IngestReport, refusalFor } from '../../ingest-report.ts'
import { preflightHandler } from '../../request/cors.ts'
import type { IngestDeps } from '../../request/ingest.ts'
import { ingestHandler } from '../../request/ingest-handler.ts'
import { compatible } from '../descriptions.ts'
import type { Surface } from '../surface.ts'
import { HEC_BODY, HEC_RAW_BODY } from './hec-formats.ts'
import { ackHandler, healthHandler } from './hec-probes.ts'
import { refusal, successText } from './hec-reply.ts'
import { type HecHead, readHead, readMetadata } from './hec-request.ts'

const ROOT = '/services/collector'
const EVENTS = [ROOT, `${ROOT}/event`, `${ROOT}/event/1.0`]
const RAW = [`${ROOT}/raw`, `${ROOT}/raw/1.0`]
const HEALTH = [`${ROOT}/health`, `${ROOT}/health/1.0`]

export const hecSurface: Surface = ({ deps, config }) => {
  const { hecQueryToken } = config
  const events = sender(deps, 'hec', hecQueryToken)
  const raw = sender(deps, 'hec-raw', hecQueryToken)
  const health = healthHandler(deps, hecQueryToken)
  const preflight = preflightHandler(deps.cors)
  return {
    routes: [
      ...EVENTS.map((path) => route('POST', path, 'Ingest events of Splunk HEC', events)),
      ...RAW.map((path) => route('POST', path, 'Ingest lines of Splunk HEC', raw)),
      ...HEALTH.map((path) => route('GET', path, 'Says that HEC is healthy', health, 'none')),
      route(
        'POST',
        `${ROOT}/ack`,
        'Says which requests were stored',
        ackHandler(deps, hecQueryToken),
      ),
      // The Docker driver asks before it sends, and goes by the status alone.
      ...[...EVENTS, ...RAW].map((path) => {
        return route('OPTIONS', path, 'Says that HEC is there', preflight, 'none')
      }),
    ],
  }
}

function route(
  method: Route['method'],
  pattern: string,
  summary: string,
  handler: Handler,
  credential: RouteDescription['credential'] = 'key',
): Route {
  const about = { tag: 'Splunk HEC', credential, summary } as const
  // Versions in paths tell them apart.
  const operationId = `${method}${pattern}`.toLowerCase().replace(/[^a-z0-9]+/g, '_')
  const description = { ...compatible(method, pattern, about), operationId }
  return { method, pattern, isLoose: true, description, handler }
}

function sender(deps: IngestDeps, form: 'hec' | 'hec-raw', takesQueryToken: boolean): Handler {
  return ingestHandler(deps, (exchange) => new HecDialect(exchange, form, takesQueryToken))
}

class HecDialect implements HttpDialect {
  readonly surface = 'hec'
  readonly replyFormat = 'hec'
  readonly apiKey: string
  readonly #form: 'hec' | 'hec-raw'
  readonly #head: HecHead

  constructor(exchange: Exchange, form: 'hec' | 'hec-raw', takesQueryToken: boolean) {
    this.#form = form
    this.#head = readHead(exchange, takesQueryToken)
    this.apiKey = this.#head.key
  }

  plan(): BodyPlan {
    const partOptions = readMetadata(this.#head.query)
    const { host = '', source = '', sourcetype = '', index = '', time = '' } = partOptions
    const format = this.#form === 'hec' ? HEC_BODY : HEC_RAW_BODY
    return { format, partOptions, target: [host, source, sourcetype, index, time] }
  }

  judge(report: IngestReport): IngestError | undefined {
    if (report.fatal === undefined && report.accepted > 0) return undefined
    const first = report.firstFault
    return first === undefined ? new IngestError('malformed', 'No data') : refusalFor(first)
  }

  answer(): Answer {
    return successText(this.#head.hasChannel)
  }

  acceptedReply(answer: Answer): Reply {
    return { status: 200, contentType: 'application/json', body: answer }
  }

  refusedReply(error: IngestError, report?: IngestReport): Reply {
    return refusal(error, this.#head, report)
  }
}
