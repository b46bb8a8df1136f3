/** The streams that a request over several is about: those it names, or all that it may see. */
import { IngestError } from '../errors.ts'
import { READ_STREAMS_MAX } from '../limits.ts'
import { type Principal, type Stream, type StreamId, tryParseRowId } from '../model/stream.ts'

/** Where streams are looked up; `ControlStore` is one. */
export interface StreamSource {
  findStreams(streamIds: readonly StreamId[]): Promise<readonly Stream[]>
  /** Live streams of `owner`, or of all owners when it is undefined, by their ids. */
  listStreams(
    owner: string | undefined,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly Stream[]>
}

/**
 * By their ids, each once. `wanted` matches the schema `STREAMS`. Throws the same `not_found` for a
 * stream that does not exist and for one that is somebody else's, `malformed` past
 * `READ_STREAMS_MAX`.
 */
export async function findStreams(
  source: StreamSource,
  principal: Principal,
  wanted: unknown = '*',
): Promise<readonly Stream[]> {
  const isAdmin = principal.scopes.has('admin')
  if (Array.isArray(wanted)) {
    const ids = [...new Set(wanted.map(readStreamId))]
    const found = await source.findStreams(ids)
    const seen = found.filter(({ owner }) => isAdmin || owner === principal.owner)
    if (seen.length === ids.length) return seen
    const missing = ids.find((id) => !seen.some(({ streamId }) => streamId === id))
    throw new IngestError('not_found', `there is no stream with the id ${missing}`)
  }
  const page = { after: 0, limit: READ_STREAMS_MAX + 1 }
  const all = await listVisibleStreams(source, principal, page)
  if (all.length <= READ_STREAMS_MAX) return all
  const limit = `${READ_STREAMS_MAX} (READ_STREAMS_MAX)`
  throw new IngestError('malformed', `"streams": "*" is over ${limit} streams; name those you mean`)
}

/** Those that the principal may see, by their ids, beginning after the id `after`. */
export function listVisibleStreams(
  source: Pick<StreamSource, 'listStreams'>,
  { scopes, owner }: Principal,
  page: { readonly after: number; readonly limit: number },
): Promise<readonly Stream[]> {
  return source.listStreams(scopes.has('admin') ? undefined : owner, page)
}

/** Of a URL: ids with commas between them, or `*`. */
export function splitStreams(text: string): unknown {
  return text === '*' ? text : text.split(',').map((id) => id.trim())
}

function readStreamId(id: unknown): StreamId {
  const number = typeof id === 'string' ? tryParseRowId(id) : undefined
  if (number !== undefined) return number as StreamId
  throw new IngestError('malformed', '"streams" must be ids of streams such as "17", or "*"')
}
