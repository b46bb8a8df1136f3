/** What a tool is, and how it finds the stream that the caller means. */
import type { ObjectSchema, StringSchema } from '../api/schema.ts'
import { IngestError } from '../errors.ts'
import { nearest } from '../language/near-words.ts'
import { hasScope, type Principal, type Scope, type Stream } from '../model/stream.ts'
import {
  findStreams,
  findVisibleStream,
  listVisibleStreams,
  type StreamFinder,
  type StreamSource,
} from '../read/find-streams.ts'

/** Who calls, and for how long. */
export interface Caller {
  readonly principal: Principal
  /** Looks the token up again; throws when it is no longer valid. */
  readonly renew: () => Promise<Principal>
  /** Aborted when the caller goes away or the call's time is over. */
  readonly signal: AbortSignal
}

export interface ToolCall extends Caller {
  /** Checked against the tool's `input`. */
  readonly args: Readonly<Record<string, unknown>>
  /** The arguments' JSON as it was written: `JSON.parse` loses digits of numbers. */
  readonly argTexts: ReadonlyMap<string, string>
}

export interface AgentTool {
  readonly name: string
  readonly title: string
  /** For the model: when to use it, what it answers. */
  readonly description: string
  readonly scope: Scope
  /** Set when the tool changes nothing. */
  readonly isReadOnly: boolean
  readonly input: ObjectSchema
  /** The result's text, at most `MCP_RESULT_CHARS_MAX`. Throws as routes do. */
  readonly run: (call: ToolCall) => Promise<string>
}

export const STREAM_ARG: StringSchema = {
  type: 'string',
  description: "A stream's id, or its name: `list_streams` has them",
}

/** Of tools that look into several. */
export const STREAMS_ARG: StringSchema = {
  type: 'string',
  description: `${STREAM_ARG.description}; or "*": all that you may read`,
}

const STREAMS_LOOKED_AT_MAX = 1_000
const ALL_STREAMS = '*'

/** The one that `findCallersStream` finds, or with `*` all that the caller sees. */
export async function findCallersStreams(
  streams: StreamFinder & StreamSource,
  principal: Principal,
  wanted: unknown,
): Promise<readonly Stream[]> {
  if (wanted === ALL_STREAMS) return findStreams(streams, principal, ALL_STREAMS)
  return [await findCallersStream(streams, principal, wanted)]
}

/**
 * What streams are called in results, by id, so that `findCallersStream` finds them: by name, but
 * by id where several share it, and to callers that may not list streams.
 */
export function namesOf(
  principal: Principal,
  streams: readonly Stream[],
): ReadonlyMap<string, string> {
  const isTold = hasScope(principal, 'streams:read')
  const times = new Map<string, number>()
  for (const { name } of streams) times.set(name, (times.get(name) ?? 0) + 1)
  return new Map(
    streams.map(({ streamId, name }) => {
      const id = String(streamId)
      return [id, isTold && times.get(name) === 1 && !/^\d+$/.test(name) ? name : id]
    }),
  )
}

/**
 * Finds a stream by id or name. Throws `not_found`, with streams that may have been meant when the
 * caller may list streams: to others no name and no id is told that they did not say themselves.
 */
export async function findCallersStream(
  streams: StreamFinder & StreamSource,
  principal: Principal,
  wanted: unknown,
): Promise<Stream> {
  const text = String(wanted)
  if (/^[1-9][0-9]{0,9}$/.test(text)) {
    try {
      return await findVisibleStream(streams, principal, text)
    } catch (cause) {
      if (!(cause instanceof IngestError) || cause.code !== 'not_found') throw cause
    }
  }
  const page = { after: 0, limit: STREAMS_LOOKED_AT_MAX }
  const all = await listVisibleStreams(streams, principal, page)
  const named = all.filter(({ name }) => name === text)
  if (named.length === 1) return named[0]!
  const why = named.length > 1 ? 'several streams have this name' : 'there is no such stream'
  throw new IngestError('not_found', `${why}; ${hintAt(principal, text, all, named)}`)
}

function hintAt(
  principal: Principal,
  text: string,
  all: readonly Stream[],
  named: readonly Stream[],
): string {
  if (!hasScope(principal, 'streams:read')) return 'give its id'
  const options = named.length > 1 ? named : nearest(text, all, ({ name }) => name)
  const told = options.map(({ streamId, name }) => `${streamId} (${name})`).join(', ')
  return told === '' ? 'list_streams lists those there are' : `perhaps one of: ${told}`
}
