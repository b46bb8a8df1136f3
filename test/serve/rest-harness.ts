/** Real stores and a real server around the routes under test; who uses it closes it. */
import assert from 'node:assert/strict'
import { CredentialCache } from '../../src/accept/admission/authenticate.ts'
import type { Route } from '../../src/http/exchange.ts'
import { createServer } from '../../src/http/server.ts'
import { ControlStore, type NewToken } from '../../src/store/control/control-store.ts'
import { CredentialStore } from '../../src/store/control/credential-store.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { openTestPostgres } from '../support/stores.ts'

const nothing = () => undefined
export const SILENT_LOG = { debug: nothing, info: nothing, warn: nothing, error: nothing }

export interface TestDatabase {
  readonly postgres: Postgres
  readonly url: string
  close(): Promise<void>
}

export async function startDatabase(): Promise<TestDatabase> {
  const store = await openTestPostgres()
  const postgres = new Postgres({ url: store.url, log: SILENT_LOG })
  const close = async () => {
    await postgres.end()
    await store.close()
  }
  return { postgres, url: store.url, close }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any reply.
  readonly json: any
}

export interface CallOptions {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A string is sent as it is. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}

export class RestHarness {
  readonly control: ControlStore
  readonly cache: CredentialCache
  /** Of the first admin. */
  adminToken = ''
  #base = ''
  #closeServer: () => Promise<void> = () => Promise.resolve()

  private constructor(postgres: Postgres) {
    this.control = new ControlStore(postgres, (change) => this.cache.forget(change))
    this.cache = RestHarness.newCache(postgres)
  }

  /** What a node knows of keys and tokens. */
  static newCache(postgres: Postgres): CredentialCache {
    return new CredentialCache({ source: new CredentialStore(postgres), onError: () => undefined })
  }

  static async start(
    postgres: Postgres,
    routes: (harness: RestHarness) => readonly Route[],
  ): Promise<RestHarness> {
    const harness = new RestHarness(postgres)
    const created = await harness.control.ensureAdminToken()
    harness.adminToken = created ?? (await harness.token('admin', ['admin']))
    const errors: unknown[] = []
    const server = createServer({
      routes: [...routes(harness)],
      onError: (error) => errors.push(error),
    })
    const port = await server.listen('127.0.0.1', 0)
    harness.#base = `http://127.0.0.1:${port}`
    harness.#closeServer = async () => {
      await server.close()
      assert.deepEqual(errors, [], 'no route may fail in a way that nobody expects')
    }
    harness.cache.start()
    return harness
  }

  readonly resolveToken = (text: string) => this.cache.resolveToken(text)

  async token(owner: string, scopes: NewToken['scopes'], streamIds?: NewToken['streamIds']) {
    const created = { name: '', owner, scopes, streamIds, expiresAtMs: null }
    return (await this.control.createToken(created)).text
  }

  /** With the admin's token unless `options` has one; an empty one sends none. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const token = options.token ?? this.adminToken
    const { body } = options
    const response = await fetch(this.#base + path, {
      method,
      ...(options.signal && { signal: options.signal }),
      headers: {
        ...(token !== '' && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...options.headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    let json: unknown
    if (/json/.test(response.headers.get('content-type') ?? '')) json = JSON.parse(text)
    return { status: response.status, headers: response.headers, text, json }
  }

  async close(): Promise<void> {
    await this.cache.stop()
    await this.#closeServer()
  }
}

/** A stream as the API shows it, less its caps: `schema-caps.test.ts` looks at those. */
export function withoutCaps(stream: Answer['json']): Answer['json'] {
  const names = Object.keys(stream).filter((name) => !/^(field|shape)_(soft|hard)_cap$/.test(name))
  return Object.fromEntries(names.map((name) => [name, stream[name]]))
}
