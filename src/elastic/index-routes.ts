/** What clients ask of indices: their names, their fields, whether they are there. */

import { mainTurns } from '../api/main-turns.ts'
import { ElasticReplies } from '../http/elastic-reply.ts'
import type { Reply, Route } from '../http/exchange.ts'
import type { HttpRequest } from '../http/guard.ts'
import { ELASTIC_BODY_BYTES_MAX, ELASTIC_FIELDS_MAX } from '../limits.ts'
import type { FieldType } from '../model/schema.ts'
import type { Stream, StreamId } from '../model/stream.ts'
import { TextNames } from '../model/text-fields.ts'
import type { StreamSource } from '../read/find-streams.ts'
import type { FieldPage, FieldRecord } from '../store/catalog/schema-store.ts'
import { type ElasticGuard, EMPTY_FOR_KEYS, elasticRoutes } from './elastic-guard.ts'
import { TIMESTAMP } from './meant-fields.ts'
import { asList, readObject, readText, refused } from './members.ts'
import { parseLine } from './msearch.ts'
import type { Json } from './raw-json.ts'
import { Indices } from './resolve-indices.ts'
import { readParameters, replyJson } from './search-routes.ts'

export interface IndexRoutesDeps extends ElasticGuard {
  readonly streams: StreamSource
  readonly listFields: (streamId: StreamId, page: FieldPage) => Promise<readonly FieldRecord[]>
}

type Answer = (request: HttpRequest, index: string) => Promise<Reply>

const READS = { scope: 'streams:read', answerKey: EMPTY_FOR_KEYS } as const

export function indexRoutes(deps: IndexRoutesDeps): Route[] {
  const get = (pattern: string, summary: string, answer: Answer) =>
    elasticRoutes(deps, {
      ...READS,
      method: 'GET',
      pattern,
      summary,
      run: (request) => answer(request, request.params[0] ?? ''),
    })
  const caps: Answer = (request, index) => answerFieldCaps(deps, request, index)
  const mapping: Answer = (request, index) => answerMapping(deps, request, index)
  const aliases: Answer = (request, index) => answerAliases(deps, request, index)
  const post = (pattern: string) =>
    elasticRoutes(deps, {
      ...READS,
      method: 'POST',
      pattern,
      summary: 'Tells the types of fields',
      body: {},
      takesText: true,
      bodyBytesMax: ELASTIC_BODY_BYTES_MAX,
      run: (request) => caps(request, request.params[0] ?? ''),
    })
  return [
    ...get('/_field_caps', 'Tells the types of fields', caps),
    ...get('/:index/_field_caps', 'Tells the types of fields', caps),
    ...post('/_field_caps'),
    ...post('/:index/_field_caps'),
    ...get('/_mapping', 'Tells the fields as a tree', mapping),
    ...get('/:index/_mapping', 'Tells the fields as a tree', mapping),
    ...get('/_aliases', 'Lists streams as indices', aliases),
    ...get('/_alias', 'Lists streams as indices', aliases),
    ...get('/:index/_alias', 'Lists streams as indices', aliases),
    ...get('/_cat/indices', 'Lists streams as indices', (request, index) =>
      answerCat(deps, request, index),
    ),
    ...get('/_cat/indices/:index', 'Lists streams as indices', (request, index) =>
      answerCat(deps, request, index),
    ),
    ...get('/_resolve/index/:index', 'Lists streams as indices', (request, index) =>
      answerResolve(deps, request, index),
    ),
    ...elasticRoutes(deps, {
      method: 'HEAD',
      pattern: '/:index',
      summary: 'Tells whether there is such a stream',
      scope: 'streams:read',
      // As senders look for their index before they write.
      answerKey: (exchange) => {
        const replies = new ElasticReplies(exchange)
        return () => replies.reply(200, '')
      },
      run: async (request) => {
        await find(deps, request, request.params[0] ?? '')
        return { ...(await replyJson(request, '')), body: '' }
      },
    }),
  ]
}

async function find(
  deps: IndexRoutesDeps,
  request: HttpRequest,
  index: string,
): Promise<readonly Stream[]> {
  const { ignoresUnknown } = readParameters(request)
  return await new Indices(deps.streams, request.principal).resolve(index, { ignoresUnknown })
}

async function answerResolve(
  deps: IndexRoutesDeps,
  request: HttpRequest,
  index: string,
): Promise<Reply> {
  const streams = await find(deps, request, index)
  const indices = streams.map(({ name }) => ({ name, attributes: ['open'] }))
  return await replyJson(request, { indices, aliases: [], data_streams: [] })
}

async function answerAliases(
  deps: IndexRoutesDeps,
  request: HttpRequest,
  index: string,
): Promise<Reply> {
  const streams = await find(deps, request, index)
  return await replyJson(
    request,
    Object.fromEntries(streams.map(({ name }) => [name, { aliases: {} }])),
  )
}

async function answerCat(
  deps: IndexRoutesDeps,
  request: HttpRequest,
  index: string,
): Promise<Reply> {
  const { params } = readParameters(request)
  const streams = await find(deps, request, index)
  if (params.get('format') === 'json' || /json/.test(request.accept)) {
    const rows = streams.map(({ name, streamId }) => {
      return { health: 'green', status: 'open', index: name, uuid: String(streamId) }
    })
    return await replyJson(request, rows)
  }
  const lines = streams.map(({ name, streamId }) => `green open ${name} ${streamId}\n`)
  const reply = await replyJson(request, '')
  return { ...reply, contentType: 'text/plain; charset=UTF-8', body: lines.join('') }
}

/** The fields of ours that every event may have, with their types. */
const OWN_FIELDS = [
  [TIMESTAMP, 'date'],
  ['_ingested_at', 'date'],
  ['_level', 'keyword'],
  ['_service', 'keyword'],
  ['_trace_id', 'keyword'],
  ['_span_id', 'keyword'],
  ['_shape', 'keyword'],
  ['_pattern', 'keyword'],
] as const
const NOT_COUNTED = ['_trace_id', '_span_id']
const TYPES: Readonly<Partial<Record<FieldType, string>>> = {
  boolean: 'boolean',
  integer: 'long',
  float: 'double',
}

/** Fields that the main thread takes over at a time. */
const FIELDS_A_TURN = 500

/** Types of all streams by field. Fields of elements of arrays are those of the array. */
async function fieldTypes(
  { listFields }: IndexRoutesDeps,
  streams: readonly Stream[],
): Promise<Map<string, Set<string>>> {
  const all = new Map<string, Set<string>>()
  for (const { streamId, textFields } of streams) {
    const names = new TextNames(textFields)
    let after: string | undefined
    for (;;) {
      const page = { limit: FIELDS_A_TURN, prefix: undefined, type: undefined }
      const fields = await listFields(streamId, { ...page, after, conflict: undefined })
      for (const { path, types } of fields) addField(all, path, typesOf(types, names.has(path)))
      await mainTurns.next()
      if (fields.length < FIELDS_A_TURN || all.size > ELASTIC_FIELDS_MAX) break
      after = fields.at(-1)?.path
    }
    if (all.size > ELASTIC_FIELDS_MAX) {
      const limit = `${ELASTIC_FIELDS_MAX} (ELASTIC_FIELDS_MAX)`
      throw refused(`the streams have over ${limit} fields: name fewer streams`)
    }
  }
  for (const [name, type] of OWN_FIELDS) all.set(name, new Set([type]))
  return all
}

function addField(all: Map<string, Set<string>>, path: string, types: readonly string[]): void {
  if (types.length === 0) return
  const known = all.get(path) ?? new Set()
  for (const type of types) known.add(type)
  all.set(path, known)
}

/** Integers and floats of one field are numbers together, as `hasTypeConflict` has it. */
function typesOf(types: readonly FieldType[], isText: boolean): string[] {
  const shown = types.flatMap((type) => {
    if (type === 'string') return [isText ? 'text' : 'keyword']
    // The elements have paths of their own.
    if (type === 'array') return ['keyword']
    return TYPES[type] ?? []
  })
  const isFloat = shown.includes('double')
  return [...new Set(shown.filter((type) => !(type === 'long' && isFloat)))]
}

async function answerFieldCaps(
  deps: IndexRoutesDeps,
  request: HttpRequest,
  index: string,
): Promise<Reply> {
  const { params } = readParameters(request)
  const streams = await find(deps, request, index)
  const wanted = wantedFields(request.body, params)
  const fields = new Map<string, Json>()
  for (const [name, types] of await fieldTypes(deps, streams)) {
    if (!wanted(name)) continue
    const isTime = types.has('date')
    const byType = Object.fromEntries(
      [...types].map((type) => {
        const aggregatable = isTime || !NOT_COUNTED.includes(name)
        return [type, { type, metadata_field: false, searchable: true, aggregatable }]
      }),
    )
    fields.set(name, byType)
  }
  return await replyJson(request, {
    indices: streams.map(({ name }) => name),
    fields: Object.fromEntries(fields),
  })
}

function wantedFields(body: unknown, params: URLSearchParams): (name: string) => boolean {
  const text = typeof body === 'string' ? body.trim() : ''
  const inBody = text === '' ? undefined : readObject(parseLine(text, 'body'), 'body').fields
  const given = inBody ?? params.get('fields')?.split(',') ?? '*'
  const patterns = asList(given).map((one) => readText(one, 'fields'))
  if (patterns.length > 1_000) throw refused('fields: over 1000 patterns')
  if (patterns.includes('*')) return () => true
  const starts = patterns.filter((one) => one.endsWith('*')).map((one) => one.slice(0, -1))
  const odd = [...patterns, ...starts].find((one) => one.slice(0, -1).includes('*'))
  if (odd !== undefined) throw refused('fields: a "*" stands at the end of a pattern')
  const exact = new Set(patterns)
  return (name) => exact.has(name) || starts.some((start) => name.startsWith(start))
}

interface Mapped {
  type?: string
  properties?: Record<string, Mapped>
}

async function answerMapping(
  deps: IndexRoutesDeps,
  request: HttpRequest,
  index: string,
): Promise<Reply> {
  const streams = await find(deps, request, index)
  const answer: Record<string, Json> = {}
  for (const stream of streams) {
    const root: Mapped = { properties: Object.create(null) as Record<string, Mapped> }
    for (const [name, types] of await fieldTypes(deps, [stream])) {
      const [type = 'keyword', ...others] = types
      placeField(root, name.split('.'), others.length > 0 ? 'keyword' : type)
    }
    answer[stream.name] = { mappings: root as Json }
  }
  return await replyJson(request, answer)
}

const DEPTH_MAX = 64

/** A value and members under one name are both there. */
function placeField(root: Mapped, names: readonly string[], type: string): void {
  let at = root
  for (const name of names.length > DEPTH_MAX ? [names.join('.')] : names) {
    at.properties ??= Object.create(null) as Record<string, Mapped>
    at.properties[name] ??= {}
    at = at.properties[name]
  }
  at.type = type
}
