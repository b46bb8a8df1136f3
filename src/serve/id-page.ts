/** Pages of small records in the order of their ids: streams and tokens. */
import type { Reply } from '../http/exchange.ts'
import { jsonReply } from '../http/problem.ts'
import type { PageRequest } from '../store/control/control-store.ts'
import { malformed, readLimit, readParameters } from './body-fields.ts'
import { tryParseRowId } from './guard.ts'

const PAGE_MAX = 1_000

/** `limit` (default and most: 1,000) and `after`, an exclusive cursor. Throws `malformed`. */
export function readIdPage(query: URLSearchParams): PageRequest {
  const parameters = readParameters(query, ['limit', 'after'])
  const limit = readLimit(parameters.get('limit'), { fallback: PAGE_MAX, max: PAGE_MAX })
  const cursor = parameters.get('after')
  if (cursor === undefined) return { after: 0, limit }
  const after = tryParseRowId(cursor)
  if (after === undefined) throw malformed('"after" must be the "next" of an earlier page')
  return { after, limit }
}

/** `{"<name>": [...], "next"}`; `records` holds one more than `limit` when there are more. */
export function replyIdPage(
  name: string,
  records: readonly { readonly id: string }[],
  limit: number,
): Reply {
  const page = records.slice(0, limit)
  const next = records.length > limit ? (page.at(-1)?.id ?? null) : null
  return jsonReply(200, { [name]: page, next })
}
