/** What browsers ask before they send, on each ingest path that has no answer of its own. */
import type { Route } from '../../http/exchange.ts'
import { type Cors, preflightHandler } from './cors.ts'
import { isIngestHandler } from './ingest-handler.ts'

export function preflightRoutes(routes: readonly Route[], cors: Cors): Route[] {
  const patternsOf = (some: readonly Route[]) => new Set(some.map(({ pattern }) => pattern))
  const answered = patternsOf(routes.filter(({ method }) => method === 'OPTIONS'))
  const ingest = patternsOf(routes.filter(({ handler }) => isIngestHandler(handler)))
  const handler = preflightHandler(cors)
  return [...ingest]
    .filter((pattern) => !answered.has(pattern))
    .map((pattern) => {
      const summary = 'Whether pages of other origins may send events'
      const description = {
        operationId: `preflight${pattern.replace(/[^a-z]+/g, '_')}`,
        summary,
        tag: 'Ingest',
        credential: 'none',
        answers: { 200: { description: summary } },
      } as const
      return { method: 'OPTIONS', pattern, isLoose: true, description, handler }
    })
}
