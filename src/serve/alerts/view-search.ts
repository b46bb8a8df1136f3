/** A rule may name a saved view in place of a search. */
import { IngestError, malformed } from '../../errors.ts'
import { type Principal, seenOwner, tryParseRowId } from '../../model/stream.ts'
import { findStreams, type StreamSource } from '../../read/find-streams.ts'
import type { ReadMembers } from '../../read/read-request.ts'
import type { ViewStore } from '../../store/control/view-store.ts'

export interface ViewSource {
  readonly views: Pick<ViewStore, 'find'>
  readonly streams: StreamSource
}

/**
 * The members of a rule, with the search of its view as it is now where there is none. The rule
 * keeps it: who edits the view later does not change what somebody is woken by. Throws `not_found`
 * for a view that the principal does not see, and `malformed`.
 */
export async function withViewSearch(
  { views, streams }: ViewSource,
  principal: Principal,
  members: ReadMembers,
): Promise<ReadMembers> {
  const { view_id: viewId, query, streams: asked } = members
  if (viewId === undefined || query !== undefined) return members
  if (!Array.isArray(asked) || asked.length !== 1) {
    throw malformed('"view_id" is of one stream: "streams" must be a list of just that one')
  }
  const [stream] = await findStreams(streams, principal, asked as readonly string[])
  const id = tryParseRowId(String(viewId))
  const view = id && stream && (await views.find(stream.streamId, seenOwner(principal), id))
  if (!view) throw new IngestError('not_found', '"view_id": the stream has no view with this id')
  return { ...members, query: view.settings.query }
}
