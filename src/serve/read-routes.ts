/**
 * One kind of read as four routes: over one stream and over several, each as a POST with a body and
 * as a GET with the same members as URL parameters, for links and the command line.
 */
import { checkBody } from '../api/check-value.ts'
import type { ObjectSchema, Schema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { type Guard, guardRoute, type HttpRequest, jsonAnswer, jsonText } from '../http/guard.ts'
import { READ_BODY_BYTES_MAX } from '../limits.ts'
import {
  findStreams,
  lookUpStream,
  type StreamFinder,
  type StreamSource,
  splitStreams,
} from '../read/find-streams.ts'
import type { AskedStreams } from '../read/read-deps.ts'
import type { ReadMembers } from '../read/read-request.ts'
import { HONEST_PROPERTIES, STREAMS, STREAMS_TEXT } from '../read/schemas.ts'

export interface ReadRoutesDeps extends Guard {
  readonly streams: StreamFinder & StreamSource
}

export interface ReadKind {
  /** The last part of the paths: `query`. */
  readonly name: string
  /** The operations' first word: `query`, `queryByUrl`, `queryStreams`, `queryStreamsByUrl`. */
  readonly operation: string
  readonly summary: string
  readonly properties: Readonly<Record<string, Schema>>
  /** How members that are lists or objects are read from text in a URL. */
  readonly texts: Readonly<
    Record<string, { readonly schema: Schema; readonly read: (text: string) => unknown }>
  >
  readonly answer: ObjectSchema
  /** The answer as JSON. `members` are as `properties` say. */
  readonly run: (
    members: ReadMembers,
    findStreams: () => Promise<AskedStreams>,
    signal: AbortSignal,
  ) => Promise<string | Uint8Array>
}

const STATS: ObjectSchema = {
  type: 'object',
  properties: {
    elapsed_ms: { type: 'number' },
    engine_ms: { type: 'number', description: "ClickHouse's own time" },
    rows_read: { type: 'integer', description: 'Rows that it looked at' },
  },
}

/** What any answer says of itself, beside these. */
export function answerOf(properties: Readonly<Record<string, Schema>>): ObjectSchema {
  return { type: 'object', properties: { ...properties, ...HONEST_PROPERTIES, stats: STATS } }
}

export function readRoutes({ streams, ...guard }: ReadRoutesDeps, kind: ReadKind): Route[] {
  const { name, operation, summary, properties, texts, run } = kind
  const several = { ...properties, streams: STREAMS }
  const bodyOf = (all: Readonly<Record<string, Schema>>) =>
    ({ type: 'object', properties: all }) as const satisfies ObjectSchema
  const severalTexts = { ...texts, streams: { schema: STREAMS_TEXT, read: splitStreams } }
  const one = async ({ principal, params, signal }: HttpRequest, members: ReadMembers) =>
    jsonText(await run(members, async () => lookUpStream(streams, principal, params[0]), signal))
  const many = async ({ principal, signal }: HttpRequest, all: ReadMembers) => {
    const { streams: wanted, ...members } = all
    return jsonText(await run(members, () => findStreams(streams, principal, wanted), signal))
  }
  const common = {
    tag: 'Reading',
    scope: 'events:read',
    answers: { 200: jsonAnswer('From the projection; `as_of` says how fresh', kind.answer) },
  } as const
  const overOne = { ...common, pattern: `/v1/streams/:id/${name}`, summary }
  const overMany = { ...common, pattern: `/v1/${name}`, summary: `${summary} over several streams` }
  const post = { method: 'POST', bodyBytesMax: READ_BODY_BYTES_MAX } as const
  return [
    guardRoute(guard, {
      ...overOne,
      ...post,
      operationId: operation,
      body: bodyOf(properties),
      run: (request) => one(request, request.body as ReadMembers),
    }),
    guardRoute(guard, {
      ...overOne,
      method: 'GET',
      operationId: `${operation}ByUrl`,
      query: { properties: urlProperties(properties, texts) },
      run: (request) => one(request, fromUrl(request.query, bodyOf(properties), texts)),
    }),
    guardRoute(guard, {
      ...overMany,
      ...post,
      operationId: `${operation}Streams`,
      body: bodyOf(several),
      run: (request) => many(request, request.body as ReadMembers),
    }),
    guardRoute(guard, {
      ...overMany,
      method: 'GET',
      operationId: `${operation}StreamsByUrl`,
      query: { properties: urlProperties(several, severalTexts) },
      run: (request) => many(request, fromUrl(request.query, bodyOf(several), severalTexts)),
    }),
  ]
}

function urlProperties(
  properties: Readonly<Record<string, Schema>>,
  texts: ReadKind['texts'],
): Record<string, Schema> {
  const shown = Object.entries(properties).map(([name, schema]) => {
    return [name, texts[name]?.schema ?? schema] as const
  })
  return Object.fromEntries(shown)
}

/** What the body would be, judged in the same way. Throws `malformed`. */
function fromUrl(query: ReadMembers, body: ObjectSchema, texts: ReadKind['texts']): ReadMembers {
  const members = Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      return [name, texts[name]?.read(String(value)) ?? value]
    }),
  )
  checkBody(body, members)
  return members
}
