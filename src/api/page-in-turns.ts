/**
 * Pages of records whose size nobody knows before: they are read and rendered some at a time, and a
 * page ends past LIST_PAGE_BYTES_MAX, with a cursor from which the next one goes on.
 */

import { LIST_PAGE_BYTES_MAX } from '../limits.ts'
import { mainTurns } from './main-turns.ts'

/** Records of such a page that are read and rendered at a time. */
export const LIST_READ_RECORDS = 100

export interface PageSource<R> {
  /** Records of the page at most. */
  readonly limit: number
  /** The next records after one of them, or after the cursor that was sent. */
  readonly read: (after: R | undefined, limit: number) => Promise<readonly R[]>
  /** A record as JSON. */
  readonly write: (record: R) => string
}

export interface TextPage<R> {
  /** Records as JSON, with commas between them. */
  readonly text: string
  /** The last one of the page, when there are more behind it. */
  readonly last: R | undefined
}

export async function pageInTurns<R>({ limit, read, write }: PageSource<R>): Promise<TextPage<R>> {
  const texts: string[] = []
  let chars = 0
  let last: R | undefined
  for (;;) {
    const wanted = Math.min(limit - texts.length, LIST_READ_RECORDS)
    const records = await read(last, wanted + 1)
    await mainTurns.next()
    for (const record of records.slice(0, wanted)) {
      const text = write(record)
      const isFull = texts.length > 0 && chars + text.length > LIST_PAGE_BYTES_MAX
      if (isFull) return { text: texts.join(','), last }
      texts.push(text)
      chars += text.length
      last = record
    }
    const hasMore = records.length > wanted
    if (!hasMore || texts.length === limit) {
      return { text: texts.join(','), last: hasMore ? last : undefined }
    }
  }
}
