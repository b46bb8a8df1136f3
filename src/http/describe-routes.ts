/** `GET /v1/openapi.json`: the API's description of itself. */
import assert from 'node:assert/strict'
import { type DescribedRoute, openApi } from '../api/openapi.ts'
import type { RouteDescription } from '../api/route-description.ts'
import type { Route } from './exchange.ts'

const ABOUT: RouteDescription = {
  operationId: 'getOpenApi',
  summary: 'The description of this API: OpenAPI 3.1',
  tag: 'Operation',
  credential: 'none',
  answers: { 200: { description: 'The document', content: { 'application/json': {} } } },
}

/** `routes` with one more, which describes all of them. Each must have its description. */
export function describeRoutes(version: string, routes: readonly Route[]): Route[] {
  let body: string | undefined
  const own: Route = {
    method: 'GET',
    pattern: '/v1/openapi.json',
    description: ABOUT,
    handler: (exchange) => {
      body ??= JSON.stringify(openApi(described, version))
      exchange.reply({ status: 200, contentType: 'application/json', body })
    },
  }
  const all = [...routes, own]
  const described = all.map(describedRoute)
  return all
}

/** Throws for a route without a description, and so stops a start. */
function describedRoute({ method, pattern, description }: Route): DescribedRoute {
  assert(description !== undefined, `${method} ${pattern} has no description`)
  return { method, pattern, description }
}
