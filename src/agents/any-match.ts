/** Whether any event matches, those that wait for the projection included. */
import { format } from '../language/format.ts'
import type { Query } from '../language/query-tree.ts'
import type { Stream } from '../model/stream.ts'
import { formatTimeNs } from '../read/answer-coverage.ts'
import { type SearchDeps, search } from '../read/search/search.ts'
import { readSearchRequest, type SearchRequest } from '../read/search/search-request.ts'

const ANY_MS_MAX = 2_000

/** In the range of `request`; undefined when that was not found out in time. */
export async function anyMatch(
  deps: SearchDeps,
  request: SearchRequest,
  streams: readonly Stream[],
  query: Query | undefined,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const members = {
    query: query === undefined ? '' : format(query),
    from: formatTimeNs(request.fromNs),
    // An open range takes what came a moment ago by another node's clock.
    ...(!request.isOpen && { to: formatTimeNs(request.toNs) }),
    time_basis: request.timeBasis,
    limit: 1,
    timeout_ms: ANY_MS_MAX,
  }
  const asked = readSearchRequest(members, deps.nowMs())
  const task = { request: asked, streams, includesStreamId: false }
  const text = Buffer.from(await search(deps, task, signal)).toString()
  const { events, complete } = JSON.parse(text) as {
    readonly events: readonly unknown[]
    readonly complete: boolean
  }
  if (events.length > 0) return true
  return complete ? false : undefined
}
