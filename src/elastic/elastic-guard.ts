/** What requests of Elasticsearch's clients look like: credentials, refusals, parameters. */
import { IngestError } from '../errors.ts'
import { ElasticReplies, elasticKey } from '../http/elastic-reply.ts'
import type { Exchange, Reply, Route } from '../http/exchange.ts'
import { type Guard, guardRoute, type Manner, type RestRoute } from '../http/guard.ts'

/** An API key of a stream was presented: it writes, and nothing else. */
const IS_KEY = 'api_key'

/** Reads the head for the answer to what presents an API key. */
export type AnswerKey = (exchange: Exchange) => () => Reply

export interface ElasticRoute
  extends Omit<RestRoute, 'operationId' | 'summary' | 'tag' | 'answers'> {
  readonly summary: string
  /**
   * What senders ask for too gets this with their keys; elsewhere they are told that they cannot
   * read.
   */
  readonly answerKey?: AnswerKey
}

export interface ElasticGuard extends Guard {
  /** Throws unless the text is a valid API key. */
  readonly resolveKey: (text: string) => Promise<unknown>
}

/** The route at the root and under `/elastic`. */
export function elasticRoutes(guard: ElasticGuard, route: ElasticRoute): Route[] {
  const { answerKey, pattern, ...rest } = route
  const manner: Manner = {
    credential: credentialText,
    refusals: (exchange) => {
      const replies = new ElasticReplies(exchange)
      const ofKey = answerKey?.(exchange)
      return (error) => {
        const isKey = error.members?.reason === IS_KEY
        return isKey && ofKey !== undefined ? ofKey() : replies.error(error)
      }
    },
  }
  const resolveToken: Guard['resolveToken'] = async (text) => {
    try {
      return await guard.resolveToken(text)
    } catch (cause) {
      const isForbidden = cause instanceof IngestError && cause.code === 'forbidden'
      if (!isForbidden) throw cause
      // Throws, where it is no key either.
      await guard.resolveKey(text)
      throw new IngestError('forbidden', cause.message, { cause, members: { reason: IS_KEY } })
    }
  }
  return ['', '/elastic'].map((prefix) => {
    const path = `${prefix}${pattern}`
    const words = `read ${route.method} ${path}`.toLowerCase().split(/[^a-z]+/)
    return guardRoute(
      { ...guard, resolveToken, manner },
      {
        ...rest,
        pattern: path,
        operationId: words.filter(Boolean).join('_'),
        tag: 'Elasticsearch',
        answers: { 200: { description: 'The answer of the product that it imitates' } },
        takesAnyQuery: true,
        isLoose: true,
      },
    )
  })
}

/** Also as our own API takes it. */
function credentialText(exchange: Exchange): string {
  const authorization = exchange.header('authorization')
  const [, bearer] = /^bearer +(\S+) *$/i.exec(authorization) ?? []
  return bearer ?? (elasticKey(authorization) || exchange.header('x-api-key'))
}

/** What has no answer of its own for keys is, as ever, an empty object. */
export const EMPTY_FOR_KEYS: AnswerKey = (exchange) => {
  const replies = new ElasticReplies(exchange)
  return () => replies.reply(200, '{}')
}
