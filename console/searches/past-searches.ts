/** Searches as they are kept: what a list of them is, and one more. */
import type { Clock } from '../base/clock.ts'

export interface PastSearch {
  readonly streamId?: string
  readonly query: string
  readonly from: string
  readonly to: string
  readonly clock: Clock
  readonly atMs: number
}

export const SEARCHES_MAX = 50
/** A longer query is not kept. */
export const KEPT_CHARS_MAX = 2_000
/** Stands in the place of the list where none is to be kept. */
export const OFF = 'off'

/** What is asked now. */
type Asked = Omit<PastSearch, 'atMs' | 'streamId'> & { readonly streamId: string | undefined }

/** What was written, by us or by who knows whom. */
export function readSearches(text: string | undefined): readonly PastSearch[] | undefined {
  if (text === OFF) return undefined
  try {
    const all: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(all) ? all.filter(isSearch).slice(0, SEARCHES_MAX) : []
  } catch {
    return [] // It is not ours.
  }
}

function isSearch(value: unknown): value is PastSearch {
  if (typeof value !== 'object' || value === null) return false
  const { streamId = '', query, from, to, clock, atMs } = value as Record<string, unknown>
  const isText = [streamId, query, from, to].every((each) => typeof each === 'string')
  const isLong = isText && (query as string).length > KEPT_CHARS_MAX
  return (
    isText &&
    !isLong &&
    (clock === 'event_time' || clock === 'ingested_at') &&
    typeof atMs === 'number'
  )
}

/** The list with one more: a query of a stream is there once, with the range that it had last. */
export function withSearch(
  all: readonly PastSearch[],
  { streamId, query, from, to, clock }: Asked,
  atMs: number,
): readonly PastSearch[] {
  const text = query.trim()
  if (text === '' || text.length > KEPT_CHARS_MAX) return all
  const others = all.filter((one) => one.query !== text || one.streamId !== streamId)
  const search = { ...(streamId !== undefined && { streamId }), query: text, from, to, clock, atMs }
  return [search, ...others].slice(0, SEARCHES_MAX)
}
