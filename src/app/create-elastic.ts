/** The part of the composition root that builds what clients of Elasticsearch read. */
import type { CredentialCache } from '../accept/admission/authenticate.ts'
import { elasticReadRoutes } from '../elastic/elastic-read-routes.ts'
import type { Route } from '../http/exchange.ts'
import type { Guard } from '../http/guard.ts'
import type { Context } from './context.ts'
import type { Reading } from './create-reading.ts'

interface ElasticParts {
  readonly guard: Guard
  readonly reading: Reading
  readonly credentials: Pick<CredentialCache, 'resolveKey'>
}

export function createElasticRoutes(
  { health }: Pick<Context, 'health'>,
  { guard, reading, credentials }: ElasticParts,
): Route[] {
  const { schemas } = reading
  return elasticReadRoutes({
    ...guard,
    ...reading,
    resolveKey: (text) => credentials.resolveKey(text),
    listFields: (streamId, page) => schemas.listFields(streamId, page),
    canRead: () => {
      if (!health.isOk('clickhouse') || !health.isOk('postgres')) return 'no'
      return health.isOk('projection') && health.isOk('reads') ? 'yes' : 'partly'
    },
  })
}
