/** Pages of what happened, the newest first. */
import { nullable, type ObjectSchema } from '../api/schema.ts'
import { malformed } from '../errors.ts'
import type { Reply } from '../http/exchange.ts'
import type { HttpRequest } from '../http/guard.ts'
import { idPageSchema, pageReply } from './id-page.ts'

const HISTORY_MAX = 1_000

export const HISTORY_QUERY: ObjectSchema = {
  type: 'object',
  properties: {
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: HISTORY_MAX,
      default: 100,
      description: 'How many, the newest first',
    },
    before: { type: 'string', description: 'The `next` of the page before' },
  },
}

/** What a history of `item` answers, under `name`. */
export function historySchema(name: string, item: ObjectSchema): ObjectSchema {
  const next = nullable(
    { type: 'string' },
    { description: 'The `before` of the next page; null on the last page' },
  )
  return idPageSchema(name, item, next)
}

export interface HistoryPage {
  readonly before: number
  readonly limit: number
}

export function historyPage({ query }: Pick<HttpRequest, 'query'>): HistoryPage {
  const { before, limit = 100 } = query
  if (before === undefined) return { before: Number.MAX_SAFE_INTEGER, limit: Number(limit) }
  if (!/^[1-9][0-9]{0,14}$/.test(String(before))) {
    throw malformed('"before" must be the "next" of an earlier page')
  }
  return { before: Number(before), limit: Number(limit) }
}

/** One page of `found`: `write` gives each as JSON. */
export function replyHistory<R>(
  name: string,
  { limit }: HistoryPage,
  found: readonly R[],
  { idOf, write }: { readonly idOf: (one: R) => number; readonly write: (one: R) => string },
): Reply {
  const last = found.at(-1)
  const next = last === undefined || found.length < limit ? undefined : idOf(last)
  return pageReply(name, found.map(write).join(','), next)
}
