/**
 * The form in which a bulk request is answered: what its sender reads and no more. docs/elastic.md
 * lists what each sender reads, and where we found that.
 */

import { isBefore8 } from '../../../http/elastic-version.ts'
import type { Exchange } from '../../../http/exchange.ts'
import {
  COMPACT_ITEMS,
  everyOperation,
  ITEM_ALL,
  ITEM_TYPE,
} from '../../../model/batch/bulk-items.ts'
import { type BulkFilter, parseFilterPath, readFilterPath } from './filter-path.ts'

/** For senders that do not ask for more. */
export const COMPACT_REPLY: BulkFilter = {
  took: true,
  errors: true,
  items: COMPACT_ITEMS,
  emptyItems: true,
}

/** Clients of version 7 turn items into objects, and fail when the type is missing. */
const FULL_REPLY: BulkFilter = { ...COMPACT_REPLY, items: everyOperation(ITEM_ALL) }

/** Fluent Bit's answer is made without items (`fluent-bit-reply.ts`). */
const WITHOUT_ITEMS: BulkFilter = { ...COMPACT_REPLY, items: everyOperation(0) }

export interface BulkForm {
  readonly filter: BulkFilter
  readonly isForFluentBit: boolean
}

/** `filter_path` works for every sender; it chooses from everything that Elasticsearch answers. */
export function bulkFormOf(exchange: Exchange): BulkForm {
  const userAgent = exchange.header('user-agent')
  const hasType = isBefore8(userAgent, exchange.header('accept'))
  const known = hasType ? ITEM_ALL : ITEM_ALL & ~ITEM_TYPE
  const filter = parseFilterPath(readFilterPath(exchange.queryString), known)
  if (filter !== undefined) return { filter, isForFluentBit: false }
  if (/^fluent-bit\b/i.test(userAgent)) return { filter: WITHOUT_ITEMS, isForFluentBit: true }
  return { filter: hasType ? FULL_REPLY : COMPACT_REPLY, isForFluentBit: false }
}
