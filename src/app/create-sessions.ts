/** The part of the composition root that knows browsers which are signed in. */
import type { CredentialCache } from '../accept/admission/authenticate.ts'
import { type SessionGuard, sessionCookieName } from '../http/session-cookie.ts'
import type { SessionStore } from '../store/control/session-store.ts'
import type { Context } from './context.ts'

export interface BrowserSessions {
  readonly sessionStore: SessionStore
  readonly cookieName: string
  /** Connections to this process are by TLS. */
  readonly isTls: boolean
  /** For routes that pages call, and so not for ingest and agents. */
  readonly sessions: SessionGuard
}

export async function createSessions(
  { config }: Context,
  plane: { readonly sessionStore: SessionStore; readonly credentials: CredentialCache },
): Promise<BrowserSessions> {
  const { sessionStore, credentials } = plane
  const cookieName = sessionCookieName(await sessionStore.readInstallation())
  const resolve = (text: string, origin: string) => credentials.resolveSession(text, origin)
  const isTls = config.tls !== undefined
  return { sessionStore, cookieName, isTls, sessions: { cookieName, resolve } }
}
