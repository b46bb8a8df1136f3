/** Pages of what happened, the newest first. */
import type { ObjectSchema } from '../api/schema.ts'
import { malformed } from '../errors.ts'
import type { HttpRequest } from '../http/guard.ts'

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

export interface HistoryPage {
  readonly before: number
  readonly limit: number
}

export function historyPage({ query }: HttpRequest): HistoryPage {
  const { before, limit = 100 } = query
  if (before === undefined) return { before: Number.MAX_SAFE_INTEGER, limit: Number(limit) }
  if (!/^[1-9][0-9]{0,14}$/.test(String(before))) {
    throw malformed('"before" must be the "next" of an earlier page')
  }
  return { before: Number(before), limit: Number(limit) }
}

export function nextOf<R>(page: HistoryPage, found: readonly R[], idOf: (one: R) => number) {
  const last = found.at(-1)
  return last === undefined || found.length < page.limit ? null : String(idOf(last))
}
