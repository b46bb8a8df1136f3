/**
 * Sessions: a browser that shows an access token once is known by a cookie from then on, so that no
 * page has to keep the token. What the cookie is, and what requests may show it:
 * `http/session-cookie.ts`.
 */
import { RFC3339 } from '../api/schema.ts'
import { IngestError } from '../errors.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import {
  clearSessionCookie,
  isByHttps,
  ORIGIN_HEADERS,
  readOrigin,
  setSessionCookie,
} from '../http/session-cookie.ts'
import { SESSION_IDLE_MS_MAX } from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { SessionStore } from '../store/control/session-store.ts'

export interface SessionRoutesDeps extends Guard {
  readonly sessionStore: SessionStore
  readonly cookieName: string
  /** Connections to this process are by TLS. */
  readonly isTls: boolean
}

const SESSION = {
  type: 'object',
  properties: {
    expires_at: { ...RFC3339, description: 'When it ends at the latest' },
    idle_seconds: { type: 'integer', description: 'It ends after so long without a request' },
  },
} as const
const ABOUT = { tag: 'Access tokens', headers: ORIGIN_HEADERS } as const

export function sessionRoutes(deps: SessionRoutesDeps): Route[] {
  return [beginRoute(deps), endRoute(deps)]
}

function beginRoute({ sessionStore, cookieName, isTls, ...guard }: SessionRoutesDeps): Route {
  return guardRoute(guard, {
    ...ABOUT,
    method: 'POST',
    pattern: '/v1/session',
    operationId: 'beginSession',
    summary: 'Sign a browser in with the token of the request',
    description: 'Sets a cookie that stands for the token in requests of the page.',
    answers: { 201: jsonAnswer('The session, whose secret is in the cookie alone', SESSION) },
    run: async ({ principal, headers }) => {
      if (principal.sessionId !== undefined) {
        const text = 'a session is begun with an access token, not with another session'
        throw new IngestError('forbidden', text)
      }
      const session = await sessionStore.create(principal.tokenId, readOrigin(headers))
      const answer = {
        expires_at: formatTimeMs(session.expiresAtMs),
        idle_seconds: SESSION_IDLE_MS_MAX / 1_000,
      }
      const set = setSessionCookie(cookieName, session, isByHttps(headers, isTls))
      return { ...answerJson(201, SESSION, answer), headers: [set, ['Cache-Control', 'no-store']] }
    },
  })
}

function endRoute({ sessionStore, cookieName, isTls, ...guard }: SessionRoutesDeps): Route {
  return guardRoute(guard, {
    ...ABOUT,
    method: 'DELETE',
    pattern: '/v1/session',
    operationId: 'endSession',
    summary: 'Sign the browser out',
    query: {
      properties: {
        everywhere: {
          type: 'boolean',
          default: false,
          description: 'Every browser that is signed in with the same token',
        },
      },
    },
    answers: { 204: { description: 'Ended; the browser forgets the cookie' } },
    run: async ({ principal, query, headers }) => {
      const { tokenId, sessionId } = principal
      if (query.everywhere === true) await sessionStore.endAll(tokenId)
      else if (sessionId !== undefined) await sessionStore.end(sessionId)
      else {
        const text = 'the request shows a token, not a session: with everywhere=true all of its'
        throw new IngestError('malformed', `${text} sessions end`)
      }
      return { status: 204, headers: [clearSessionCookie(cookieName, isByHttps(headers, isTls))] }
    },
  })
}
