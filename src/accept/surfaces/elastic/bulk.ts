/**
 * The bulk-compatible surface: `_bulk` and the single-document writes of Elasticsearch, at the host
 * root. The index is cosmetic: the key says which stream an event goes to.
 *
 * A refusal covers the whole request, before anything of it is accepted: senders lose data when a
 * reply mixes refusals into its items.
 */
import type { BatchBuffers } from '../../../bytes/batch-buffers.ts'
import { ReplyBuffers } from '../../../bytes/reply-buffers.ts'
import { IngestError } from '../../../errors.ts'
import { mediaTypeOf } from '../../../http/body.ts'
import { ElasticReplies, elasticKey } from '../../../http/elastic-reply.ts'
import { isBefore8 } from '../../../http/elastic-version.ts'
import type { Exchange, Handler, Reply, Route } from '../../../http/exchange.ts'
import { SEGMENT_EVENTS_MAX } from '../../../limits.ts'
import type { BulkPartOptions } from '../../../model/batch/bulk-items.ts'
import { formatEventId } from '../../../model/event-id.ts'
import type { Answer, BodyPlan, CommittedPart, HttpDialect } from '../../dialect.ts'
import { DOCUMENT_BODY } from '../../framing/body-format.ts'
import type { IngestReport } from '../../ingest-report.ts'
import type { IngestDeps } from '../../request/ingest.ts'
import { ingestHandler } from '../../request/ingest-handler.ts'
import { compatible } from '../descriptions.ts'
import { type BulkForm, bulkFormOf } from './bulk-form.ts'
import { BULK_BODY } from './bulk-format.ts'
import { encodeBulkReply } from './bulk-reply.ts'
import { filterAnswer, readFilterPath } from './filter-path.ts'
import { encodeFluentBitReply } from './fluent-bit-reply.ts'

/** Elastic's clients send their own family of types: `application/vnd.elasticsearch+x-ndjson`. */
const MEDIA_TYPES = /^application\/(?:vnd\.elasticsearch\+)?(?:x-ndjson|json)$/

export function bulkRoutes(deps: IngestDeps): Route[] {
  const memory = { items: deps.batcher.buffers, replies: new ReplyBuffers() }
  const bulk = ingestHandler(deps, (exchange) => new BulkDialect(exchange, memory, undefined))
  const indexBulk = ingestHandler(deps, (exchange) => {
    return new BulkDialect(exchange, memory, exchange.param(0))
  })
  const withoutId = ingestHandler(deps, (exchange) => new DocumentDialect(exchange, undefined))
  const withId = ingestHandler(deps, (exchange) => new DocumentDialect(exchange, exchange.param(1)))
  const both = ['POST', 'PUT'] as const
  return [
    ...elasticRoutes(['POST'], '/:index/_doc', 'Ingest one document', withoutId),
    ...elasticRoutes(both, '/_bulk', 'Ingest documents', bulk),
    ...elasticRoutes(both, '/:index/_bulk', 'Ingest documents of an index', indexBulk),
    ...elasticRoutes(both, '/:index/_doc/:id', 'Ingest one document', withId),
    ...elasticRoutes(both, '/:index/_create/:id', 'Ingest one document', withId),
  ]
}

function elasticRoutes(
  methods: readonly Route['method'][],
  pattern: string,
  summary: string,
  handler: Handler,
): Route[] {
  return methods.map((method) => {
    const description = compatible(method, pattern, {
      tag: 'Elasticsearch',
      credential: 'basic',
      summary,
    })
    return { method, pattern, isLoose: true, description, handler }
  })
}

/** The memory for the items that workers return, and for the reply made of them. */
interface BulkMemory {
  readonly items: Pick<BatchBuffers, 'releaseView'>
  readonly replies: ReplyBuffers
}

/** What the two have in common: credentials, media types, refusals. */
abstract class ElasticDialect {
  readonly surface = 'bulk'
  readonly apiKey: string
  refusalReason: string | undefined
  protected readonly replies: ElasticReplies
  readonly #contentType: string

  constructor(exchange: Exchange) {
    this.apiKey = elasticKey(exchange.header('authorization'))
    this.replies = new ElasticReplies(exchange)
    this.#contentType = exchange.header('content-type')
  }

  protected assertMediaType(): void {
    const mediaType = mediaTypeOf(this.#contentType)
    if (mediaType === '' || MEDIA_TYPES.test(mediaType)) return
    if (mediaType === 'text/plain') this.refusalReason = 'plain_text_not_accepted'
    const text = 'send application/x-ndjson or application/json'
    throw new IngestError('unsupported_media_type', text)
  }

  refusedReply(error: IngestError): Reply {
    return this.replies.error(error)
  }
}

class BulkDialect extends ElasticDialect implements HttpDialect {
  readonly replyFormat = 'bulk'
  readonly #defaultIndex: string | undefined
  readonly #form: BulkForm
  readonly #memory: BulkMemory
  readonly #startedAt = performance.now()
  #parts: readonly CommittedPart[] = []

  constructor(exchange: Exchange, memory: BulkMemory, defaultIndex: string | undefined) {
    super(exchange)
    this.#memory = memory
    this.#defaultIndex = defaultIndex
    this.#form = bulkFormOf(exchange)
  }

  plan(): BodyPlan {
    this.assertMediaType()
    const partOptions: BulkPartOptions = {
      itemFields: this.#form.filter.items,
      defaultIndex: this.#defaultIndex,
    }
    return { format: BULK_BODY, partOptions, hasItems: true, target: [this.#defaultIndex ?? ''] }
  }

  /** The reply reports rejected items one by one. */
  judge(report: IngestReport): IngestError | undefined {
    if (report.accepted + report.rejected > 0) return undefined
    return new IngestError('malformed', 'request body is required')
  }

  answer(report: IngestReport, parts: readonly CommittedPart[]): Answer {
    const tookMs = Math.round(performance.now() - this.#startedAt)
    this.#parts = parts
    if (this.#form.isForFluentBit) return encodeFluentBitReply(report, tookMs)
    const { replies: buffers } = this.#memory
    return encodeBulkReply(parts, { buffers, filter: this.#form.filter, tookMs })
  }

  acceptedReply(answer: Answer): Reply {
    const { items, replies } = this.#memory
    for (const { result } of this.#parts) {
      if (result.bulkItems !== undefined) items.releaseView(result.bulkItems.json)
    }
    this.#parts = []
    const reply = this.replies.reply(200, answer)
    return typeof answer === 'string' ? reply : { ...reply, sent: () => replies.release(answer) }
  }
}

/** `_doc` and `_create`: one document, stored like a bulk request of one item. */
class DocumentDialect extends ElasticDialect implements HttpDialect {
  readonly replyFormat = 'document'
  readonly #index: string
  readonly #id: string | undefined
  readonly #filterPath: string
  readonly #hasType: boolean

  constructor(exchange: Exchange, id: string | undefined) {
    super(exchange)
    this.#index = exchange.param(0)
    this.#filterPath = readFilterPath(exchange.queryString)
    this.#hasType = isBefore8(exchange.header('user-agent'), exchange.header('accept'))
    this.#id = id
  }

  plan(): BodyPlan {
    this.assertMediaType()
    return { format: DOCUMENT_BODY, target: [this.#index, this.#id ?? ''] }
  }

  judge(report: IngestReport): IngestError | undefined {
    if (report.fatal === undefined && report.accepted > 0) return undefined
    const reason = report.firstFault?.message ?? 'request body is required'
    return new IngestError('malformed', reason)
  }

  answer(_report: IngestReport, parts: readonly CommittedPart[]): Answer {
    const { segmentIds, firstEvent } = parts[0]!
    const segmentId = segmentIds[Math.floor(firstEvent / SEGMENT_EVENTS_MAX)]!
    const ordinal = firstEvent % SEGMENT_EVENTS_MAX
    const answer = {
      _index: this.#index,
      ...(this.#hasType && { _type: '_doc' }),
      _id: this.#id ?? formatEventId({ segmentId, ordinal }),
      _version: 1,
      result: 'created',
      _shards: { total: 1, successful: 1, failed: 0 },
      _seq_no: 0,
      _primary_term: 1,
    }
    return JSON.stringify(filterAnswer(answer, this.#filterPath))
  }

  /** A malformed document gets the exception type that it has in a bulk request's item. */
  override refusedReply(error: IngestError, report?: IngestReport): Reply {
    const isDocument = report?.firstFault !== undefined
    if (error.code !== 'malformed' || !isDocument) return super.refusedReply(error)
    return this.replies.error(error, 'document_parsing_exception')
  }

  acceptedReply(answer: Answer): Reply {
    return this.replies.reply(201, answer)
  }
}
