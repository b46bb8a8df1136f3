/** Pages of records in the order of their ids: streams, tokens, views. */

import { pageInTurns } from '../api/page-in-turns.ts'
import type { ObjectSchema, Schema } from '../api/schema.ts'
import { malformed } from '../errors.ts'
import type { Reply } from '../http/exchange.ts'
import { jsonText } from '../http/guard.ts'
import { tryParseRowId } from '../model/stream.ts'
import type { PageRequest } from '../store/control/control-store.ts'

const PAGE_MAX = 1_000

export const NEXT_PAGE = {
  anyOf: [{ type: 'string' }, { type: 'null' }],
  description: 'The `after` of the next page; null on the last page',
} as const

/** The parameters of a list of records. */
export const ID_PAGE_QUERY = {
  properties: {
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: PAGE_MAX,
      default: PAGE_MAX,
      description: 'A page of large records ends earlier: go on while there is a `next`',
    },
    after: { type: 'string', description: 'The `next` of the page before' },
  },
} as const

/** What a list of `item` answers, under `name`. */
export function idPageSchema(
  name: string,
  item: ObjectSchema,
  next: Schema = NEXT_PAGE,
): ObjectSchema {
  const items = { type: 'array', items: item } as const
  return {
    type: 'object',
    properties: { [name]: items, next },
    required: [name, 'next'],
  }
}

/** `limit` (default and most: 1,000) and `after`, an exclusive cursor. Throws `malformed`. */
function readIdPage(query: Readonly<Record<string, unknown>>): PageRequest {
  const { limit = PAGE_MAX, after: cursor } = query
  if (cursor === undefined) return { after: 0, limit: Number(limit) }
  const after = tryParseRowId(String(cursor))
  if (after === undefined) throw malformed('"after" must be the "next" of an earlier page')
  return { after, limit: Number(limit) }
}

/** What of records a page is made of. */
export interface IdPageSource<R> {
  readonly read: (page: PageRequest) => Promise<readonly R[]>
  readonly idOf: (record: R) => number
  /** As JSON. */
  readonly write: (record: R) => string
}

/** `{"<name>": [...], "next"}`. */
export async function replyIdPage<R>(
  name: string,
  query: Readonly<Record<string, unknown>>,
  { read, idOf, write }: IdPageSource<R>,
): Promise<Reply> {
  const asked = readIdPage(query)
  const { text, last } = await pageInTurns({
    limit: asked.limit,
    read: (after, limit) => read({ after: after === undefined ? asked.after : idOf(after), limit }),
    write,
  })
  return pageReply(name, text, last === undefined ? undefined : idOf(last))
}

/** `{"<name>": [...], "next"}`; `items`: as JSON, with commas between them. */
export function pageReply(name: string, items: string, next: number | undefined): Reply {
  const told = next === undefined ? null : String(next)
  return jsonText(`{"${name}":[${items}],"next":${JSON.stringify(told)}}`)
}
