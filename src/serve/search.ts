/**
 * Search and export over REST: `/v1/streams/:id/search` and, over several streams, `/v1/search`; as
 * a body or, for links and curl, in the URL.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ObjectSchema } from '../api/schema.ts'
import { IngestError } from '../errors.ts'
import type { Route } from '../http/exchange.ts'
import {
  type Guard,
  guardRoute,
  type HttpRequest,
  jsonText,
  type RestRoute,
  type RunInLane,
  type StreamReply,
  toIngestError,
} from '../http/guard.ts'
import { internalDetail } from '../http/problem.ts'
import type { ReplyStream } from '../http/reply-stream.ts'
import { EXPORTS_MAX } from '../limits.ts'
import { formatTimeNs } from '../read/answer-coverage.ts'
import { EVENT } from '../read/events.ts'
import {
  findStreams,
  lookUpStream,
  type StreamFinder,
  type StreamSource,
  splitStreams,
} from '../read/find-streams.ts'
import { type AskedStreams, foundOf } from '../read/read-deps.ts'
import { STREAMS, STREAMS_TEXT } from '../read/schemas.ts'
import { Export } from '../read/search/export.ts'
import { type SearchDeps, search } from '../read/search/search.ts'
import {
  readSearchRequest,
  SEARCH_PROPERTIES,
  SEARCH_QUERY,
  type SearchRequest,
  searchAnswer,
} from '../read/search/search-request.ts'
import { StoreError, storeFault } from '../store/store-error.ts'

export interface SearchRoutesDeps extends Guard {
  readonly streams: StreamFinder & StreamSource
  readonly search: SearchDeps
}

const ANSWER = searchAnswer(EVENT)
const LINES_TYPE = 'application/x-ndjson'
const CSV_TYPE = 'text/csv'
const LINE: ObjectSchema = {
  ...EVENT,
  description:
    'A line each: an export. A last line `{"complete": false, "reason", …}` if some are missing',
}
/** For how long a step of an export is retried when the lane refuses it. */
const TURN_MS_MAX = 60_000
const TURN_PAUSE_MS = 1_000

type Shared = Omit<RestRoute, 'method' | 'operationId' | 'run'>

/** What searches have in common. */
const SHARED = {
  summary: 'Search events',
  tag: 'Reading',
  scope: 'events:read',
  answers: {
    200: {
      description: 'Events; those acknowledged before are among them',
      content: {
        'application/json': ANSWER,
        [LINES_TYPE]: LINE,
        [CSV_TYPE]: { type: 'string', description: 'RFC 4180, with `fields` as columns' },
      },
    },
  },
} as const

type FindStreams = () => Promise<AskedStreams>

export function searchRoutes({ streams, search: deps, ...guard }: SearchRoutesDeps): Route[] {
  const exports = new Exports()
  const answer = async (request: HttpRequest, members: Members, find: FindStreams) => {
    const includesStreamId = request.params.length === 0
    const kind = exportKind(request.accept)
    const wanted = readSearchRequest(members, deps.nowMs(), kind && 'oldest')
    const streams = await find()
    const task = { request: wanted, streams, includesStreamId }
    if (kind === undefined) {
      return jsonText(await search(deps, task, request.signal))
    }
    const limit = Number(members.limit ?? Number.POSITIVE_INFINITY)
    const exported = { ...task, streams: await foundOf(streams), kind, limit }
    return exports.begin(() => Export.start(deps, exported), kind, request, wanted)
  }
  const ofOne = async (request: HttpRequest, members: Members) => {
    const lookUp = async () => lookUpStream(streams, request.principal, request.params[0])
    return answer(request, members, lookUp)
  }
  const ofSeveral = async (request: HttpRequest, { streams: wanted, ...members }: Members) => {
    const split = typeof wanted === 'string' ? splitStreams(wanted) : wanted
    return answer(request, members, () => findStreams(streams, request.principal, split))
  }
  const one = { ...SHARED, pattern: '/v1/streams/:id/search' } satisfies Shared
  const several = { ...SHARED, pattern: '/v1/search' } satisfies Shared
  const over = 'Search events of several streams'
  return [
    guardRoute(guard, {
      ...one,
      method: 'POST',
      operationId: 'search',
      body: { type: 'object', properties: SEARCH_PROPERTIES },
      run: (request) => ofOne(request, request.body as Members),
    }),
    guardRoute(guard, {
      ...one,
      method: 'GET',
      operationId: 'searchByUrl',
      query: SEARCH_QUERY,
      run: (request) => ofOne(request, request.query),
    }),
    guardRoute(guard, {
      ...several,
      summary: over,
      method: 'POST',
      operationId: 'searchStreams',
      body: { type: 'object', properties: { streams: STREAMS, ...SEARCH_PROPERTIES } },
      run: (request) => ofSeveral(request, request.body as Members),
    }),
    guardRoute(guard, {
      ...several,
      summary: over,
      method: 'GET',
      operationId: 'searchStreamsByUrl',
      query: { properties: { streams: STREAMS_TEXT, ...SEARCH_QUERY.properties } },
      run: (request) => ofSeveral(request, request.query),
    }),
  ]
}

type Members = Readonly<Record<string, unknown>>
type ExportKind = 'lines' | 'csv'

/** Undefined for JSON, and for clients that accept anything. */
function exportKind(accept: string): ExportKind | undefined {
  const types = accept
    .toLowerCase()
    .split(',')
    .map((type) => type.split(';')[0]?.trim())
  const known = types.find((type) =>
    [LINES_TYPE, CSV_TYPE, 'application/json'].includes(type ?? ''),
  )
  return known === LINES_TYPE ? 'lines' : known === CSV_TYPE ? 'csv' : undefined
}

class Exports {
  #running = 0

  /**
   * The first events are found before the answer begins: what fails with them is an error with its
   * status. Throws `overloaded` when EXPORTS_MAX are under way, and as search does.
   */
  async begin(
    start: () => Promise<Export>,
    kind: ExportKind,
    { signal, renew }: HttpRequest,
    { fromNs, toNs }: SearchRequest,
  ): Promise<StreamReply> {
    if (this.#running >= EXPORTS_MAX) {
      throw new IngestError('overloaded', `${EXPORTS_MAX} exports are running (EXPORTS_MAX)`)
    }
    const { wanted, first } = await this.#count(async () => {
      const started = await start()
      return { wanted: started, first: await started.next(signal) }
    })
    const stopping = new AbortController()
    return {
      status: 200,
      contentType: kind === 'csv' ? `${CSV_TYPE}; charset=utf-8; header=present` : LINES_TYPE,
      headers: [
        ['X-Sluice-From', formatTimeNs(fromNs)],
        ['X-Sluice-To', formatTimeNs(toNs)],
      ],
      onStopping: () => stopping.abort(),
      send: (stream, runInLane) => {
        const parts = { wanted, first, stream, runInLane, renew, signal, stopping: stopping.signal }
        return this.#count(() => writeExport(parts))
      },
    }
  }

  async #count<T>(work: () => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await work()
    } finally {
      this.#running--
    }
  }
}

interface Writing extends Pick<HttpRequest, 'renew' | 'signal'> {
  readonly wanted: Export
  /** Found already; undefined when there are none. */
  readonly first: readonly Uint8Array[] | undefined
  readonly stream: ReplyStream
  readonly runInLane: RunInLane
  readonly stopping: AbortSignal
}

/** Writes the export to its end; where that cannot be, it says why and breaks the answer off. */
async function writeExport({ wanted, first, stream, runInLane, ...parts }: Writing): Promise<void> {
  const { renew, stopping } = parts
  const signal = AbortSignal.any([parts.signal, stopping])
  const step = async () => {
    await renew() // A token that was revoked meanwhile reads no further.
    return wanted.next(signal)
  }
  try {
    if (wanted.heading !== '') stream.write(wanted.heading)
    for (
      let pieces = first;
      pieces !== undefined;
      pieces = await retryWhileLaneIsFull(runInLane, signal, step)
    ) {
      for (const piece of pieces) {
        stopping.throwIfAborted()
        if (!stream.write(piece)) await stream.whenTaken()
      }
      if (stream.isOver) return
    }
    stream.write(wanted.ending)
  } catch (cause) {
    await breakOff(stream, wanted.endingBroken(stopping.aborted ? STOPPING : whyBroken(cause)))
    if (!stopping.aborted) toIngestError(cause) // Throws what is a fault of ours, to be logged.
  }
}

const STOPPING = 'the service stops'

function whyBroken(cause: unknown): string {
  const error = IngestError.from(cause, 'internal')
  if (cause instanceof StoreError) return storeFault(cause)
  return error.code === 'internal' ? internalDetail(error) : error.message
}

/**
 * The reader has the reason as a last line, and notices that the end is missing: it resumes after
 * the last id it has. The line's end is written apart, as the last chunk of an answer without its
 * end may not be handed over.
 */
async function breakOff(stream: ReplyStream, ending: string): Promise<void> {
  stream.write(ending.trimEnd())
  stream.write(ending.slice(ending.trimEnd().length))
  await stream.whenTaken()
  stream.drop()
}

/** A step waits longer for its turn than a request does: its reader has waited already. */
async function retryWhileLaneIsFull<T>(
  runInLane: RunInLane,
  signal: AbortSignal,
  step: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + TURN_MS_MAX
  for (;;) {
    try {
      return await runInLane(step)
    } catch (cause) {
      const isRefused = cause instanceof IngestError && cause.code === 'overloaded'
      if (!isRefused || signal.aborted || performance.now() > deadline) throw cause
      await sleep(TURN_PAUSE_MS)
    }
  }
}
