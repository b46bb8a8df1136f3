/**
 * Paths with slashes too many, as senders make them of a base URL that ends in one: what they send
 * is lost when the answer is 404. Only for routes that say so, and only when no route takes the
 * path as it was written; so an index may be called anything, `%2F` in it included. Other routes
 * keep their strict paths, for proxies in front may guard them by path.
 */
import type { Route } from './exchange.ts'
import { bestMatch, paramsOf } from './match-path.ts'

export interface LooseMatch {
  /** Without the slashes too many. */
  readonly path: string
  /** Still percent-encoded. */
  readonly params: readonly string[]
  /** Undefined when the path takes other methods only. */
  readonly route: Route | undefined
  readonly pattern: string
}

interface LoosePattern {
  readonly pattern: string
  readonly segments: readonly string[]
  readonly routes: Map<string, Route>
}

export class LoosePaths {
  readonly #patterns = new Map<string, LoosePattern>()

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route)
  }

  #add(route: Route): void {
    const { pattern, method } = route
    const known = this.#patterns.get(pattern)
    const added = known ?? { pattern, segments: pattern.split('/'), routes: new Map() }
    added.routes.set(method, route)
    this.#patterns.set(pattern, added)
  }

  /** Undefined when `written` has no slash too many, or is no path of these routes without them. */
  find(method: string, written: string): LooseMatch | undefined {
    const path = written.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
    if (path === written) return undefined
    const segments = path.split('/')
    const patterns = [...this.#patterns.values()]
    const routeOf = ({ routes }: LoosePattern) =>
      routes.get(method) ?? (method === 'HEAD' ? routes.get('GET') : undefined)
    const taking = patterns.filter((one) => routeOf(one) !== undefined)
    const best = bestMatch(taking, segments) ?? bestMatch(patterns, segments)
    if (best === undefined || ![...best.routes.values()].some(isLoose)) return undefined
    const params = paramsOf(best.segments, segments)
    const route = routeOf(best)
    if (route !== undefined && !isLoose(route)) return undefined
    return { path, params, route, pattern: best.pattern }
  }
}

function isLoose(route: Route): boolean {
  return route.isLoose === true
}
