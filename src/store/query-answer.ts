/** Answers in ClickHouse's format JSON, of the embedded engine and of servers. */
import { mainTurns } from '../api/main-turns.ts'
import { MAIN_SLICE_CHARS } from '../limits.ts'

export interface QueryAnswer<Row> {
  readonly data: Row[]
  readonly statistics?: { readonly rows_read?: number; readonly elapsed?: number }
}

/** What stands before the rows, and between two of them. In a text of a row it would be escaped. */
const FIRST_ROW = '\n\t"data":\n\t[\n'
const NEXT_ROW = ',\n\t\t{'
const AFTER_ROWS = '\n\t],\n'

/** A large answer is parsed some rows at a time, between which others have the main thread. */
export async function parseAnswer<Row>(text: string): Promise<QueryAnswer<Row>> {
  const start = text.indexOf(FIRST_ROW) + FIRST_ROW.length
  const end = text.lastIndexOf(AFTER_ROWS)
  const isLarge = text.length > 2 * MAIN_SLICE_CHARS && start >= FIRST_ROW.length && end > start
  if (!isLarge) return JSON.parse(text) as QueryAnswer<Row>
  const data: Row[] = []
  for (let at = start; at < end; ) {
    const found = text.indexOf(NEXT_ROW, at + MAIN_SLICE_CHARS)
    const next = found < 0 || found > end ? end : found
    for (const row of JSON.parse(`[${text.slice(at, next)}]`) as Row[]) data.push(row)
    at = next + 1
    await mainTurns.next()
  }
  const rest = JSON.parse(`${text.slice(0, start)}${text.slice(end)}`) as QueryAnswer<Row>
  return { ...rest, data }
}
