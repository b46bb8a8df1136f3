/**
 * The public API as the console calls it. Everything is relative to the page, so that it works
 * behind a proxy that adds a path.
 */
import { visibleLine } from '../../src/language/visible-text.ts'
import { beSignedOut, session } from './session.ts'

/** What the service answered instead of a success: a problem document (RFC 9457). */
export class ApiError extends Error {
  /** 0 when there was no answer at all. */
  readonly status: number
  readonly code: string
  /** Of a query that is wrong: where, from 1. */
  readonly column: number | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    super(failureOf(status, problem.detail))
    this.status = status
    this.code = typeof problem.code === 'string' ? problem.code : ''
    this.column = typeof problem.column === 'number' ? problem.column : undefined
    const { retry_after: wait } = problem
    this.retryAfterSeconds = typeof wait === 'number' ? wait : undefined
  }
}

/** A failure of the server is told as one, with its status; a refusal in its own words. */
function failureOf(status: number, detail: unknown): string {
  if (typeof detail !== 'string') return `The server answered ${status}.`
  return status >= 500 ? `The server answered ${status}: ${detail}` : detail
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
  /** Left out where undefined. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  /** In place of the session of the person who is signed in; null: nothing is shown. */
  readonly token?: string | null
  /** Nobody is signed out by its answer. */
  readonly isTrial?: boolean
  readonly signal?: AbortSignal | undefined
}

/** The address of a path of the API, such as `streams/1`, for calls and for snippets. */
export function apiUrl(path: string, query: Call['query'] = {}): URL {
  const url = new URL(`../v1/${path}`, document.baseURI.replace(/[?#].*$/s, ''))
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return url
}

/** The service's own address, as a client outside the browser would use it. */
export function serviceUrl(): string {
  return apiUrl('').href.replace(/\/v1\/$/, '')
}

/**
 * A successful response. Throws `ApiError`, or the `AbortError` of `signal`. If the answer says
 * that the session is over, as its token may be, the user is signed out.
 */
export async function call(path: string, options: Call = {}): Promise<Response> {
  const { method = 'GET', body, query, headers, signal, token } = options
  const asker = session.value
  const isJson = body !== undefined && typeof body !== 'string'
  const response = await send(apiUrl(path, query), {
    method,
    headers: {
      ...(token && { Authorization: `Bearer ${token}` }),
      // Says that the cookie is meant: no page of another origin can.
      ...(token === undefined && { 'X-Sluice-Session': '1' }),
      ...(isJson && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as string) }),
    ...(signal && { signal }),
    cache: 'no-store',
    // For the cookie, which is of this origin alone.
    credentials: 'same-origin',
  })
  if (response.ok && !isPage(response)) return response
  const error = new ApiError(response.status, await readProblem(response))
  const isOver = response.status === 401 && token === undefined && !options.isTrial
  // Unless somebody has signed in anew meanwhile.
  if (isOver && session.value === asker) {
    beSignedOut('You are signed out: the time is over, or the token is not valid any more.')
  }
  throw error
}

/** The answer's JSON. Throws as `call` does. */
export async function callJson<T>(path: string, options: Call = {}): Promise<T> {
  const response = await call(path, options)
  return (response.status === 204 ? undefined : JSON.parse(await whole(response))) as T
}

/** All pages of a list, which is the member `name` of its answers. Throws as `call` does. */
export async function loadAll<T>(
  path: string,
  name: string,
  { query, signal }: Pick<Call, 'query' | 'signal'> = {},
): Promise<readonly T[]> {
  const all: T[] = []
  let after: string | undefined
  do {
    const page: Readonly<Record<string, unknown>> = await callJson(path, {
      ...{ query: { ...query, after }, signal },
    })
    all.push(...(page[name] as readonly T[]))
    after = (page.next as string | null) ?? undefined
  } while (after !== undefined)
  return all
}

/** The answer's text, for what holds numbers whose digits count. Throws as `call` does. */
export async function callText(path: string, options: Call = {}): Promise<string> {
  return await whole(await call(path, options))
}

async function whole(response: Response): Promise<string> {
  try {
    return await response.text()
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new ApiError(0, { detail: 'The answer broke off before its end.' })
  }
}

/**
 * What to show for a failure; undefined when it was no failure, as the call was given up. It may
 * repeat names and queries, so it is made visible.
 */
export function failureText(cause: unknown): string | undefined {
  if (cause instanceof DOMException && cause.name === 'AbortError') return undefined
  return visibleLine(cause instanceof Error ? cause.message : String(cause))
}

async function send(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new ApiError(0, { detail: 'The service does not answer. Is it running?' })
  }
}

/** A page for people: something between answers in place of the service. */
function isPage({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/html') === true
}

const NOT_OURS =
  'Something between this page and the service answered with a page of its own, such as a form ' +
  'to sign in. Load this page again.'

async function readProblem(response: Response): Promise<Readonly<Record<string, unknown>>> {
  if (response.ok) return { detail: NOT_OURS }
  try {
    return (await response.json()) as Readonly<Record<string, unknown>>
  } catch {
    return {}
  }
}
