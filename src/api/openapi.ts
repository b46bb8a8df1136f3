/** The OpenAPI 3.1 document of routes, from their descriptions. */
import { ERRORS, type ErrorCode } from '../errors.ts'
import type { RouteDescription } from './route-description.ts'
import type { Schema } from './schema.ts'

export interface DescribedRoute {
  readonly method: string
  /** `/v1/streams/:id` */
  readonly pattern: string
  readonly description: RouteDescription
}

const SECURITY = {
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token, `lap_…`. Each operation names the scope that it needs.',
  },
  key: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'An API key of a stream, `lax_…`: events go into that stream.',
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'Any user name that is not empty; the password is an API key of a stream.',
  },
} as const

const PROBLEM: Schema = {
  type: 'object',
  description: 'A problem document (RFC 9457)',
  properties: {
    type: { type: 'string', description: '`urn:sluice:problem:` and the code' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'For people: it may change' },
    code: { type: 'string', enum: Object.keys(ERRORS), description: 'For programs' },
    retry_after: { type: 'integer', description: 'Seconds after which to try again' },
    reason: { type: 'string', description: 'What a query that did not end ran out of' },
    field: { type: 'string', description: 'The member with the fault in a query' },
    column: { type: 'integer', description: 'Where the fault is, from 1, in UTF-16 code units' },
    repair: { type: 'string', description: 'What to write instead, if known' },
  },
  required: ['type', 'title', 'status', 'detail', 'code'],
}

/** The document as a value for `JSON.stringify`; `version` is the service's own. */
export function openApi(routes: readonly DescribedRoute[], version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const { method, pattern, description } of routes) {
    const path = pattern.replaceAll(/:([a-z_]+)/g, '{$1}')
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(pattern, description) }
  }
  const cookie = routes.find(({ description }) => description.cookie)?.description.cookie
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      summary: 'Log ingest and search',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      securitySchemes: { ...SECURITY, ...(cookie && { session: sessionScheme(cookie) }) },
      schemas: { Problem: published(PROBLEM) },
    },
  }
}

function sessionScheme(name: string): object {
  const description = "Of a browser that `POST /v1/session` signed in: for the console's own page."
  return { type: 'apiKey', in: 'cookie', name, description }
}

function securityOf({ credential, scope, cookie }: RouteDescription): object[] {
  return [{ [credential]: scope ? [scope] : [] }, ...(cookie ? [{ session: [] }] : [])]
}

function operation(pattern: string, route: RouteDescription): object {
  const { operationId, summary, tag, credential, scope, body } = route
  const needs = scope === undefined ? '' : `Needs the scope \`${scope}\`.`
  const text = [route.description ?? '', needs].filter(Boolean).join(' ')
  const parameters = [
    ...pathParameters(pattern, route.path ?? {}),
    ...namedParameters('query', route.query?.properties ?? {}, route.query?.required),
    ...namedParameters('header', route.headers ?? {}),
  ]
  return {
    operationId,
    summary,
    tags: [tag],
    ...(text !== '' && { description: text }),
    ...(credential !== 'none' && { security: securityOf(route) }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: body.required, content: contentOf(body.content) } }),
    responses: responsesOf(route),
  }
}

function pathParameters(pattern: string, known: Readonly<Record<string, Schema>>): object[] {
  const names = [...pattern.matchAll(/:([a-z_]+)/g)].map(([, name]) => name ?? '')
  return names.map((name) => ({
    name,
    in: 'path',
    required: true,
    ...withSchema(known[name] ?? { type: 'string', description: 'An id' }),
  }))
}

function namedParameters(
  place: 'query' | 'header',
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): object[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...withSchema(schema),
  }))
}

/** A parameter's description goes beside its schema, not in it. */
function withSchema({ description, ...schema }: Schema): object {
  return { ...(description && { description }), schema: published(schema) }
}

function responsesOf({ answers }: RouteDescription): object {
  const responses: Record<string, object> = {}
  for (const [status, { description, content }] of Object.entries(answers)) {
    responses[status] = { description, ...(content && { content: contentOf(content) }) }
  }
  const problem = { $ref: '#/components/schemas/Problem' }
  responses.default = {
    description: `An error: ${statusesOf().join(', ')}`,
    content: { 'application/problem+json': { schema: problem } },
  }
  return responses
}

function statusesOf(): number[] {
  const codes = Object.keys(ERRORS) as ErrorCode[]
  return [...new Set(codes.map((code) => ERRORS[code].httpStatus))].sort((a, b) => a - b)
}

function contentOf(content: Readonly<Record<string, Schema>>): object {
  return Object.fromEntries(
    Object.entries(content).map(([mediaType, schema]) => [
      mediaType,
      { schema: published(schema) },
    ]),
  )
}

/** JSON Schema as clients get it, without members that are only ours. */
export function published(schema: Schema): unknown {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === 'must' ? undefined : value)))
}
