/**
 * The streams that a request is about: the one or those it names, or all that it may see. Here and
 * nowhere else it is decided what a principal sees: every route and tool finds its streams here.
 */
import { IngestError } from '../errors.ts'
import { READ_STREAMS_MAX } from '../limits.ts'
import {
  hasScope,
  type Principal,
  type Stream,
  type StreamId,
  seenOwner,
  tryParseRowId,
} from '../model/stream.ts'
import type { StreamLookup } from './read-deps.ts'

/** Where one stream is looked up; `ControlStore` is one. */
export interface StreamFinder {
  findStream(streamId: StreamId): Promise<Stream | undefined>
}

/** Where several are. */
export interface StreamSource {
  /** By their ids; those that are not live are missing. */
  findStreams(streamIds: readonly StreamId[]): Promise<readonly Stream[]>
  /** Live streams of `owner`, or of all owners when it is undefined, by their ids. */
  listStreams(
    owner: string | undefined,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly Stream[]>
}

/** Its owner's streams, an admin's are all; of those the ones that its token is limited to. */
function sees(principal: Principal, { streamId, owner }: Stream): boolean {
  const { streamIds } = principal
  if (streamIds !== undefined && !streamIds.has(streamId)) return false
  return hasScope(principal, 'admin') || owner === principal.owner
}

/**
 * The stream that a path names, if the principal may see it. Throws the same `not_found` for a
 * stream that does not exist and for one that the principal does not see.
 */
export async function findVisibleStream(
  streams: StreamFinder,
  principal: Principal,
  idText: string | undefined,
): Promise<Stream> {
  const id = tryParseRowId(idText)
  const stream = id === undefined ? undefined : await streams.findStream(id as StreamId)
  if (stream !== undefined && sees(principal, stream)) return stream
  throw new IngestError('not_found', 'there is no stream with this id')
}

/** `findVisibleStream` for what reads the stream by its id meanwhile. Throws `not_found`. */
export function lookUpStream(
  streams: StreamFinder,
  principal: Principal,
  idText: string | undefined,
): StreamLookup {
  const id = tryParseRowId(idText)
  const found = findVisibleStream(streams, principal, idText).then((stream) => [stream])
  return { ids: id === undefined ? [] : [id as StreamId], found }
}

/**
 * By their ids, each once. `wanted` matches the schema `STREAMS`. Throws the same `not_found` for a
 * stream that does not exist and for one that the principal does not see, `malformed` past
 * `READ_STREAMS_MAX`.
 */
export async function findStreams(
  source: StreamSource,
  principal: Principal,
  wanted: unknown = '*',
): Promise<readonly Stream[]> {
  if (Array.isArray(wanted)) {
    const ids = [...new Set(wanted.map(readStreamId))]
    const found = await source.findStreams(ids)
    const seen = found.filter((stream) => sees(principal, stream))
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
export async function listVisibleStreams(
  source: StreamSource,
  principal: Principal,
  page: { readonly after: number; readonly limit: number },
): Promise<readonly Stream[]> {
  const { streamIds } = principal
  if (streamIds !== undefined) {
    // Few: TOKEN_STREAMS_MAX.
    const found = await source.findStreams([...streamIds].filter((id) => id > page.after))
    return found.filter((stream) => sees(principal, stream)).slice(0, page.limit)
  }
  return await source.listStreams(seenOwner(principal), page)
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
