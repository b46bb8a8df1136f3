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
import { SIGN_IN_MS_MAX, SIGNED_IN_MS } from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Scope } from '../model/stream.ts'

/** Makes a token; `ControlStore.createToken` does. */
export type CreateToken = (token: {
  readonly name: string
  readonly owner: string
  readonly scopes: readonly Scope[]
  readonly expiresAtMs: number
}) => Promise<{ readonly text: string }>

const CODE_BYTES = 24
const BODY_BYTES_MAX = 1_024
const SIGN_IN: ObjectSchema = {
  type: 'object',
  properties: { code: { type: 'string', minLength: 1, maxLength: 128 } },
  required: ['code'],
}
const SIGNED_IN: ObjectSchema = {
  type: 'object',
  properties: {
    token: { type: 'string', description: 'An access token of the first admin' },
    expires_at: { type: 'string', format: 'date-time' },
  },
}

export class SignInCodes {
  /** SHA-256 of the codes that still work, with the time at which they stop. */
  readonly #codes = new Map<string, number>()
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

  /** Whether the code works; it does not any more after that. */
  use(code: string): boolean {
    const key = digest(code)
    const endsAt = this.#codes.get(key)
    this.#codes.delete(key)
    return endsAt !== undefined && this.#nowMs() < endsAt
  }
}

/** A look-up by digest takes no longer for a code that is nearly right. */
function digest(code: string): string {
  return createHash('sha256').update(code).digest('base64url')
}

export function signInRoute(codes: SignInCodes, createToken: CreateToken): Route {
  return {
    method: 'POST',
    pattern: '/v1/sign-in',
    description: {
      operationId: 'signIn',
      summary: 'Get a token for the code of a one-time link',
      tag: 'Console',
      credential: 'none',
      body: { content: { 'application/json': SIGN_IN }, required: true },
      answers: { 200: { description: 'A token', content: { 'application/json': SIGNED_IN } } },
    },
    handler: async (exchange) => {
      const bytes = await readJsonBody(exchange, BODY_BYTES_MAX)
      exchange.reply(await signIn(codes, createToken, bytes))
    },
  }
}

async function signIn(
  codes: SignInCodes,
  createToken: CreateToken,
  bytes: Uint8Array,
): Promise<Reply> {
  const body = parseJson(bytes)
  checkBody(SIGN_IN, body)
  const { code } = body as { readonly code: string }
  if (!codes.use(code)) {
    const text = 'the link was used before, or is too old; sign in with a token'
    throw new IngestError('unauthenticated', text)
  }
  const expiresAtMs = Date.now() + SIGNED_IN_MS
  const { text } = await createToken({
    name: 'console, by the link of the first start',
    owner: 'admin',
    scopes: ['admin'],
    expiresAtMs,
  })
  const answer = { token: text, expires_at: formatTimeMs(expiresAtMs) }
  const headers = [['Cache-Control', 'no-store']] as const
  return {
    status: 200,
    contentType: 'application/json',
    headers,
    body: writeJson(SIGNED_IN, answer),
  }
}
