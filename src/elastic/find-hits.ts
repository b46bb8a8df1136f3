/** Hits: the events of a search in its order, page by page of our own search. */
import { readElementTexts, readMemberTexts } from '../api/json-text.ts'
import { mainTurns } from '../api/main-turns.ts'
import { ELASTIC_HITS_BYTES_MAX } from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Stream } from '../model/stream.ts'
import { type SearchDeps, search } from '../read/search/search.ts'
import { readSearchRequest } from '../read/search/search-request.ts'
import { refused } from './members.ts'
import type { SearchBody } from './read-search.ts'

export interface FoundHits {
  /** Records of events as our search writes them. */
  readonly records: readonly string[]
  readonly hasMore: boolean
  /** Why some are missing. */
  readonly shortfall: string | undefined
}

/** Hits of a page: the main thread looks at one page at a time. */
const PAGE = 200

export async function findHits(
  deps: SearchDeps,
  body: SearchBody,
  streams: readonly Stream[],
  signal: AbortSignal,
): Promise<FoundHits> {
  const wanted = body.from + body.size
  if (wanted === 0 || streams.length === 0) return NO_HITS
  const endMs = deps.nowMs() + body.timeoutMs
  const records: string[] = []
  let cursor = body.searchAfter
  let bytes = 0
  for (;;) {
    const limit = Math.min(PAGE, wanted - records.length)
    const leftMs = Math.max(1, Math.round(endMs - deps.nowMs()))
    const request = readSearchRequest(membersOf(body, { limit, cursor, leftMs }), deps.nowMs())
    const task = { request, streams, includesStreamId: true }
    const page = Buffer.from(await search(deps, task, signal))
    bytes += page.length
    if (bytes > ELASTIC_HITS_BYTES_MAX) {
      const max = `${ELASTIC_HITS_BYTES_MAX} bytes (ELASTIC_HITS_BYTES_MAX)`
      throw refused(`the hits are over ${max}: lower "size" and go on by search_after`)
    }
    const answer = readMemberTexts(page.toString())
    records.push(...readElementTexts(answer.get('events') ?? '[]'))
    const reason = JSON.parse(answer.get('reason') ?? 'null') as string | null
    const next = JSON.parse(answer.get('next') ?? 'null') as string | null
    const damaged = answer.has('damaged') ? 'segments that cannot be read' : undefined
    const shortfall = reason ?? damaged
    const hasMore = next !== null
    if (shortfall !== undefined || !hasMore || records.length >= wanted) {
      return { records: records.slice(body.from), hasMore, shortfall }
    }
    cursor = next
    await mainTurns.next()
  }
}

const NO_HITS: FoundHits = { records: [], hasMore: false, shortfall: undefined }

function membersOf(
  { text, range, clock, isDescending }: SearchBody,
  page: {
    readonly limit: number
    readonly cursor: string | undefined
    readonly leftMs: number
  },
) {
  const { limit, cursor, leftMs } = page
  return {
    query: text,
    from: formatTimeMs(range?.fromMs ?? 0),
    ...(range?.untilMs !== undefined && { to: formatTimeMs(range.untilMs) }),
    time_basis: clock,
    order: isDescending ? 'newest' : 'oldest',
    limit,
    ...(cursor !== undefined && { [isDescending ? 'before' : 'after']: cursor }),
    timeout_ms: leftMs,
  }
}
