/**
 * The one-time link of the first start: its code is worth a token, once, for a few minutes. Codes
 * are in memory alone: after a restart the admin token in its file is the way in.
 */
import { createHash, randomBytes } from 'node:crypto'
import { checkBody } from '../api/check-value.ts'
import type { ObjectSchema } from '../api/schema.ts'
import { writeJson } from '../api/write-answer.ts'
import { IngestError } from '../errors.ts'
import { parseJson, readJsonBody } from '../http/body.ts'
import type { Reply, Route } from '../http/exchange.ts'
import { isByHttps, ORIGIN_HEADERS, readOrigin, setSessionCookie } from '../http/session-cookie.ts'
import { SIGN_IN_MS_MAX } from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Scope } from '../model/stream.ts'

/** …and how long the token that it gives. */
export const SIGNED_IN_MS = 12 * 3_600_000

export interface SignInDeps {
  /** `ControlStore.createToken` does it. */
  readonly createToken: (token: {
    readonly name: string
    readonly owner: string
    readonly scopes: readonly Scope[]
    readonly expiresAtMs: number
  }) => Promise<{ readonly tokenId: number; readonly text: string }>
  /** `SessionStore.create` does it. */
  readonly beginSession: (
    tokenId: number,
    origin: string,
  ) => Promise<{ readonly text: string; readonly expiresAtMs: number }>
  readonly cookieName: string
  /** Connections to this process are by TLS. */
  readonly isTls: boolean
}

const CODE_BYTES = 24
const BODY_BYTES_MAX = 1_024
const SIGN_IN: ObjectSchema = {
  type: 'object',
  properties: {
    code: { type: 'string', minLength: 1, maxLength: 128 },
    session: {
      type: 'boolean',
      default: false,
      description: 'Signs the browser in by a cookie, as `POST /v1/session`: no token is answered',
    },
  },
  required: ['code'],
}
const SIGNED_IN: ObjectSchema = {
  type: 'object',
  properties: {
    token: {
      type: 'string',
      description: 'An access token of the first admin; absent where a session was asked for',
    },
    expires_at: { type: 'string', format: 'date-time' },
  },
}

export class SignInCodes {
  /** SHA-256 of the codes that still work, with the time at which they stop. */
  readonly #codes = new Map<string, number>()
  /** Of those, the ones for which a token is being made. */
  readonly #taken = new Set<string>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** A code that works once, within SIGN_IN_MS_MAX. */
  create(): string {
    const code = randomBytes(CODE_BYTES).toString('base64url')
    this.#codes.set(digest(code), this.#nowMs() + SIGN_IN_MS_MAX)
    return code
  }

  /**
   * What `make` makes for the code; undefined when the code does not work. It is spent when `make`
   * succeeded. When that fails, as without a store, the code works as before. Throws what `make`
   * throws, and `unavailable` while somebody else's `make` for the code is under way.
   */
  async exchange<T>(code: string, make: () => Promise<T>): Promise<T | undefined> {
    const key = digest(code)
    const endsAt = this.#codes.get(key)
    if (endsAt === undefined) return undefined
    if (this.#nowMs() >= endsAt) {
      this.#codes.delete(key)
      return undefined
    }
    if (this.#taken.has(key)) {
      const text = 'the link is being used at this moment; try again'
      throw new IngestError('unavailable', text)
    }
    this.#taken.add(key)
    try {
      const made = await make()
      this.#codes.delete(key)
      return made
    } finally {
      this.#taken.delete(key)
    }
  }
}

/** A look-up by digest takes no longer for a code that is nearly right. */
function digest(code: string): string {
  return createHash('sha256').update(code).digest('base64url')
}

export function signInRoute(codes: SignInCodes, deps: SignInDeps): Route {
  return {
    method: 'POST',
    pattern: '/v1/sign-in',
    description: {
      operationId: 'signIn',
      summary: 'Get a token, or a session, for the code of a one-time link',
      tag: 'Console',
      credential: 'none',
      headers: ORIGIN_HEADERS,
      body: { content: { 'application/json': SIGN_IN }, required: true },
      answers: {
        200: { description: 'A token or a session', content: { 'application/json': SIGNED_IN } },
      },
    },
    handler: async (exchange) => {
      const headers = {
        origin: exchange.header('origin'),
        'x-forwarded-proto': exchange.header('x-forwarded-proto'),
      }
      const bytes = await readJsonBody(exchange, BODY_BYTES_MAX)
      const body = parseJson(bytes)
      checkBody(SIGN_IN, body)
      exchange.reply(await signIn(codes, deps, body as SignInBody, headers))
    },
  }
}

interface SignInBody {
  readonly code: string
  readonly session?: boolean
}

async function signIn(
  codes: SignInCodes,
  { createToken, beginSession, cookieName, isTls }: SignInDeps,
  { code, session: isSession = false }: SignInBody,
  headers: Readonly<Record<string, string>>,
): Promise<Reply> {
  const expiresAtMs = Date.now() + SIGNED_IN_MS
  const origin = isSession ? readOrigin(headers) : ''
  const made = await codes.exchange(code, async () => {
    const token = await createToken({
      name: 'console, by the link of the first start',
      owner: 'admin',
      scopes: ['admin'],
      expiresAtMs,
    })
    return { token, session: isSession ? await beginSession(token.tokenId, origin) : undefined }
  })
  if (made === undefined) {
    const text = 'the link was used before, or is too old; sign in with a token'
    throw new IngestError('unauthenticated', text)
  }
  const { token, session } = made
  const expires_at = formatTimeMs(expiresAtMs)
  return {
    status: 200,
    contentType: 'application/json',
    headers: [
      ['Cache-Control', 'no-store'],
      ...(session ? [setSessionCookie(cookieName, session, isByHttps(headers, isTls))] : []),
    ],
    body: writeJson(SIGNED_IN, session ? { expires_at } : { token: token.text, expires_at }),
  }
}
