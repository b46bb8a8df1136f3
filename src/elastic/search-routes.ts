/** `_msearch`, `_search`, `_count`; and what is refused with a word of what to use instead. */
import { renderInTurns } from '../api/main-turns.ts'
import type { Schema } from '../api/schema.ts'
import { elasticText } from '../http/elastic-reply.ts'
import type { Reply, Route } from '../http/exchange.ts'
import type { HttpRequest } from '../http/guard.ts'
import { ELASTIC_BODY_BYTES_MAX, REPLY_BYTES_MAX } from '../limits.ts'
import type { StreamSource } from '../read/find-streams.ts'
import { type ElasticGuard, elasticRoutes } from './elastic-guard.ts'
import { readObject, refused } from './members.ts'
import { parseLine, runMsearch } from './msearch.ts'
import { type Json, jsonTexts } from './raw-json.ts'
import { membersOfUrl, readSearch } from './read-search.ts'
import { Indices } from './resolve-indices.ts'
import { type ElasticDeps, newRun, runCount, runSearch } from './run-search.ts'

export interface SearchRoutesOptions extends ElasticGuard, ElasticDeps {
  readonly streams: StreamSource
}

/** Grafana's alerting says who asks. */
const HEADERS: Readonly<Record<string, Schema>> = {
  FromAlert: { type: 'string', description: '`true`: an answer that is not whole is an error' },
}
const READS = { scope: 'events:read', headers: HEADERS } as const
const BODY = { body: {}, takesText: true, bodyBytesMax: ELASTIC_BODY_BYTES_MAX } as const

export function elasticSearchRoutes(deps: SearchRoutesOptions): Route[] {
  const msearch = (request: HttpRequest, index: string) => answerMsearch(deps, request, index)
  const search = (request: HttpRequest, index: string) => answerSearch(deps, request, index)
  const count = (request: HttpRequest, index: string) => answerCount(deps, request, index)
  return [
    ...bothPaths(deps, ['POST'], '_msearch', 'Search several times', msearch),
    ...bothPaths(deps, ['POST', 'GET'], '_search', 'Search', search),
    ...bothPaths(deps, ['POST', 'GET'], '_count', 'Count', count),
    ...refusals(deps),
  ]
}

type Answer = (request: HttpRequest, index: string) => Promise<Reply>

/** Of all streams, and of those that the path names. */
function bothPaths(
  deps: SearchRoutesOptions,
  methods: readonly ('GET' | 'POST')[],
  name: string,
  summary: string,
  answer: Answer,
): Route[] {
  return methods.flatMap((method) => {
    const body = method === 'GET' ? {} : BODY
    const common = { ...READS, ...body, method, summary }
    return [
      ...elasticRoutes(deps, {
        ...common,
        pattern: `/${name}`,
        run: (request) => answer(request, ''),
      }),
      ...elasticRoutes(deps, {
        ...common,
        pattern: `/:index/${name}`,
        run: (request) => answer(request, request.params[0] ?? ''),
      }),
    ]
  })
}

/** The parameters that change what an answer means. */
export function readParameters({ queryString, headers }: HttpRequest) {
  const params = new URLSearchParams(queryString)
  if (params.get('typed_keys') === 'true') throw refused('typed_keys is not supported')
  return {
    params,
    ignoresUnknown: params.get('ignore_unavailable') === 'true',
    isTotalAsInt: params.get('rest_total_hits_as_int') === 'true',
    mustBeWhole: headers.fromalert?.toLowerCase() === 'true',
  }
}

async function answerMsearch(
  deps: SearchRoutesOptions,
  request: HttpRequest,
  index: string,
): Promise<Reply> {
  const { mustBeWhole } = readParameters(request)
  const run = newRun(deps, request.signal, mustBeWhole)
  const indices = new Indices(deps.streams, request.principal)
  return await replyJson(
    request,
    await runMsearch(run, indices, { text: String(request.body), index }),
  )
}

async function openSearch(deps: SearchRoutesOptions, request: HttpRequest, index: string) {
  const options = readParameters(request)
  const text = String(request.body ?? '').trim()
  const source = options.params.get('source') ?? ''
  const given = text === '' ? source : text
  const inBody = given === '' ? {} : readObject(parseLine(given, 'body'), 'search')
  const members = { ...inBody, ...membersOfUrl(options.params) }
  const indices = new Indices(deps.streams, request.principal)
  const streams = await indices.resolve(index, options)
  const run = newRun(deps, request.signal, options.mustBeWhole)
  return { body: readSearch(members, run.nowMs), streams, run, options }
}

async function answerSearch(
  deps: SearchRoutesOptions,
  request: HttpRequest,
  index: string,
): Promise<Reply> {
  const { body, streams, run, options } = await openSearch(deps, request, index)
  const { status: _, ...answer } = await runSearch(run, body, streams)
  if (!options.isTotalAsInt) return await replyJson(request, answer)
  const hits = answer.hits as { readonly total?: { readonly value: number } }
  return await replyJson(request, {
    ...answer,
    hits: { ...hits, ...(hits.total && { total: hits.total.value }) } as Json,
  })
}

async function answerCount(
  deps: SearchRoutesOptions,
  request: HttpRequest,
  index: string,
): Promise<Reply> {
  const { body, streams, run } = await openSearch(deps, request, index)
  const count = await runCount(run, body, streams)
  const shards = { total: 1, successful: 1, skipped: 0, failed: 0 }
  return await replyJson(request, { count, _shards: shards })
}

export async function replyJson({ accept }: HttpRequest, answer: Json): Promise<Reply> {
  const body = await renderInTurns(jsonTexts(answer), REPLY_BYTES_MAX / 2)
  if (body !== undefined) return elasticText(accept, body)
  throw refused(`the answer is over ${REPLY_BYTES_MAX / 2} bytes: ask for less at a time`)
}

const INSTEAD: readonly (readonly [methods: string, pattern: string, instead: string])[] = [
  ['POST GET', '/_sql', 'use _search with aggs, or POST /v1/query'],
  ['POST', '/_query', 'use _search with aggs, or POST /v1/query'],
  ['POST GET', '/_search/scroll', 'use _search with sort and search_after: it pages exactly'],
  ['POST', '/_async_search', 'use _search'],
  ['POST', '/:index/_async_search', 'use _search'],
  ['POST', '/:index/_pit', 'use sort and search_after: it pages exactly'],
  ['POST', '/:index/_search/point_in_time', 'use sort and search_after: it pages exactly'],
]

function refusals(deps: SearchRoutesOptions): Route[] {
  return INSTEAD.flatMap(([methods, pattern, instead]) => {
    return methods.split(' ').flatMap((method) => {
      const path = pattern.replace('/:index', '')
      return elasticRoutes(deps, {
        method: method as 'GET' | 'POST',
        pattern,
        summary: 'Says what to use instead',
        scope: 'events:read',
        run: () => Promise.reject(refused(`${path} is not supported: ${instead}`)),
      })
    })
  })
}
