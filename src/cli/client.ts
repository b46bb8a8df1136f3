/** The public API as the commands call it. Failures repeat the service's own message. */
import { UsageError } from './usage-error.ts'

/** The service refused, failed, broke off, or did not answer. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  /** Of the answer, where there was one. */
  readonly status: number | undefined

  constructor(message: string, options: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options)
    this.status = options.status
  }
}

export interface Call {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  /** Ends the call before Ctrl+C does. */
  readonly signal?: AbortSignal
}

export class Client {
  readonly #url: string
  readonly #token: string | undefined
  readonly #signal: AbortSignal

  constructor(url: string, token: string | undefined, signal: AbortSignal) {
    assertAddress(url)
    this.#url = url.replace(/\/+$/, '')
    this.#token = token
    this.#signal = signal
    assertSecret('access token', token)
  }

  /** Resolves with a successful response. Throws `ApiFailure`, and `UsageError` without a token. */
  async call(
    path: string,
    { method, body, headers, query = {}, signal }: Call = {},
  ): Promise<Response> {
    if (this.#token === undefined) {
      throw new UsageError('set SLUICE_TOKEN to an access token, such as $(cat data/admin-token)')
    }
    return await this.send(path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      query,
      headers: {
        Authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    })
  }

  /** As `call`, with only the headers given and no token. */
  async send(
    path: string,
    { query = {}, ...init }: RequestInit & { readonly query?: Call['query'] },
  ): Promise<Response> {
    const url = new URL(`${this.#url}/v1/${path}`)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    let response: Response
    try {
      response = await fetch(url, { signal: this.#signal, ...init })
    } catch (cause) {
      if (this.#signal.aborted || init.signal?.aborted === true) throw cause
      throw unanswered(this.#url, cause)
    }
    if (response.ok) return response
    throw new ApiFailure(await problemText(response), { status: response.status })
  }

  /** As `call`; the text of the answer. */
  async text(path: string, options: Call = {}): Promise<string> {
    return await readWhole(await this.call(path, options))
  }

  async json<T>(path: string, options: Call = {}): Promise<T> {
    return JSON.parse(await this.text(path, options)) as T
  }

  /** The id of the stream with this name or id. Throws `UsageError`. */
  async findStream(name: string | undefined): Promise<string> {
    if (name === undefined) throw new UsageError('name a stream: sluice streams lists them')
    return pickStream(await this.listStreams(), name).id
  }

  async listStreams(): Promise<readonly StreamInfo[]> {
    return await this.listAll<StreamInfo>('streams', 'streams')
  }

  /** All pages of a list, which is the member `name` of its answers. */
  async listAll<T>(path: string, name: string, query: Call['query'] = {}): Promise<readonly T[]> {
    const all: T[] = []
    let after: string | undefined
    do {
      const page = await this.json<Readonly<Record<string, unknown>>>(path, {
        query: { ...query, after },
      })
      all.push(...(page[name] as T[]))
      after = (page.next as string | null) ?? undefined
    } while (after !== undefined)
    return all
  }
}

/** The stream with this name or id. Throws `UsageError`. */
export function pickStream(all: readonly StreamInfo[], name: string): StreamInfo {
  const found = all.find((stream) => stream.name === name) ?? all.find(({ id }) => id === name)
  if (found !== undefined) return found
  const known = all.slice(0, 10).map((stream) => stream.name)
  throw new UsageError(`there is no stream ${name}; there are ${known.join(', ') || 'none'}`)
}

export interface StreamInfo {
  readonly id: string
  readonly name: string
  readonly retention: string
  readonly text_fields: readonly string[]
}

/** What is not sent is not shown, as it may hold a password. Throws `UsageError`. */
function assertAddress(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new UsageError('the address (--url, SLUICE_URL) must be like http://localhost:4800')
  }
  if (parsed.username + parsed.password !== '') {
    throw new UsageError('the address (--url, SLUICE_URL) takes no user and no password')
  }
}

/** A header cannot carry it else, and the error for that would show it. Throws `UsageError`. */
export function assertSecret(what: string, secret: string | undefined): void {
  if (secret === undefined || /^[\x21-\x7e]+$/.test(secret)) return
  throw new UsageError(`the ${what} is empty, or has blanks or characters that none has`)
}

/** What never left this machine is no silence of the service: that has a code of the system's. */
function unanswered(url: string, cause: unknown): Error {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const { code, message } = inner as NodeJS.ErrnoException
  if (code === undefined) return new UsageError(`${url} cannot be asked: ${message}`)
  // An error of several addresses, such as IPv4's and IPv6's, has no text.
  return new ApiFailure(`${url} does not answer: ${message || code}`, { cause })
}

/** A failure of the server is told as one, with its status; a refusal in its own words. */
async function problemText(response: Response): Promise<string> {
  const { status } = response
  const detail = await tryReadDetail(response)
  if (detail === undefined) return `the server answered ${status}`
  return status >= 500 ? `the server answered ${status}: ${detail}` : detail
}

async function tryReadDetail(response: Response): Promise<string | undefined> {
  try {
    const problem: unknown = await response.json()
    const { detail, title } = (problem ?? {}) as { detail?: string; title?: string }
    return detail ?? title
  } catch {
    return undefined // Something else answered, such as a proxy.
  }
}

/** The text of an answer. Throws `ApiFailure` when it breaks off. */
export async function readWhole(response: Response): Promise<string> {
  try {
    return await response.text()
  } catch (cause) {
    throw brokenOff(cause)
  }
}

/** For an answer that ended before its end. */
export function brokenOff(cause: unknown): ApiFailure {
  const text = cause instanceof Error ? cause.message : String(cause)
  return new ApiFailure(`the answer broke off: ${text}`, { cause })
}

/** The lines of a body as they arrive, without line ends. */
export async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}
