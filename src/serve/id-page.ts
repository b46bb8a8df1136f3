/** Pages of small records in the order of their ids: streams and tokens. */
import type { ObjectSchema } from '../api/schema.ts'
import { tryParseRowId } from '../model/stream.ts'
import type { PageRequest } from '../store/control/control-store.ts'
import { malformed } from './body-fields.ts'

const PAGE_MAX = 1_000

export const NEXT_PAGE = {
  anyOf: [{ type: 'string' }, { type: 'null' }],
  description: 'The `after` of the next page; null on the last page',
} as const

/** The parameters of a list of records. */
export const ID_PAGE_QUERY = {
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: PAGE_MAX, default: PAGE_MAX },
    after: { type: 'string', description: 'The `next` of the page before' },
  },
} as const

/** What a list of `item` answers, under `name`. */
export function idPageSchema(name: string, item: ObjectSchema): ObjectSchema {
  const items = { type: 'array', items: item } as const
  return {
    type: 'object',
    properties: { [name]: items, next: NEXT_PAGE },
    required: [name, 'next'],
  }
}

/** `limit` (default and most: 1,000) and `after`, an exclusive cursor. Throws `malformed`. */
export function readIdPage(query: Readonly<Record<string, unknown>>): PageRequest {
  const { limit = PAGE_MAX, after: cursor } = query
  if (cursor === undefined) return { after: 0, limit: Number(limit) }
  const after = tryParseRowId(String(cursor))
  if (after === undefined) throw malformed('"after" must be the "next" of an earlier page')
  return { after, limit: Number(limit) }
}

/** `{"<name>": [...], "next"}`; `records` holds one more than `limit` when there are more. */
export function idPage(
  name: string,
  records: readonly { readonly id: string }[],
  limit: number,
): Readonly<Record<string, unknown>> {
  const page = records.slice(0, limit)
  const next = records.length > limit ? (page.at(-1)?.id ?? null) : null
  return { [name]: page, next }
}
