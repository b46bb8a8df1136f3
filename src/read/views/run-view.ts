/** A view is run by the code that answers queries and searches. */
import type { Stream } from '../../model/stream.ts'
import type { ViewSettings } from '../../store/control/view.ts'
import { type AggregateDeps, aggregate } from '../aggregate/aggregate.ts'
import { readAggregateRequest } from '../aggregate/aggregate-request.ts'
import type { ReadMembers } from '../read-request.ts'
import { type SearchDeps, search } from '../search/search.ts'
import { readSearchRequest } from '../search/search-request.ts'
import { aggregateMembers, searchMembers } from './view-settings.ts'

/** Which view is run, over which stream; `changes` are the caller's own members. */
export interface ViewRun {
  readonly settings: ViewSettings
  readonly changes: ReadMembers
  readonly stream: Stream
}

/** The view's aggregates, as `aggregate` answers. Throws `malformed`, `unavailable`. */
export function queryView(
  deps: AggregateDeps,
  { settings, changes, stream }: ViewRun,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const request = readAggregateRequest(aggregateMembers(settings, changes), deps.nowMs())
  return aggregate(deps, request, [stream], signal)
}

/** The view's events, as `search` answers. Throws `malformed`, `unavailable`, `overloaded`. */
export function searchView(
  deps: SearchDeps,
  { settings, changes, stream }: ViewRun,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const request = readSearchRequest(searchMembers(settings, changes), deps.nowMs())
  return search(deps, { request, streams: [stream], includesStreamId: false }, signal)
}
