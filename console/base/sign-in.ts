/**
 * Signing in and out: a token, or the code of the first start's link, is exchanged for a cookie of
 * the service. Nothing of the page keeps the token.
 */
import { ApiError, call, failureText } from './api.ts'
import { beSignedIn, beSignedOut } from './session.ts'

const NO_COOKIE =
  'The browser did not keep the cookie by which it would be signed in: allow cookies for this page.'

/** Throws as `call` does, and when the browser keeps no cookies. */
export async function signInWith(token: string): Promise<void> {
  await call('session', { method: 'POST', token })
  await confirmCookie()
}

/** The same with the code of the first start's link. */
export async function signInByCode(code: string): Promise<void> {
  await call('sign-in', { method: 'POST', body: { code, session: true }, token: null })
  await confirmCookie()
}

async function confirmCookie(): Promise<void> {
  try {
    await call('me', { isTrial: true })
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 401) throw new Error(NO_COOKIE)
    throw cause
  }
  beSignedIn()
}

/** Of this browser, or of all that are signed in with the same token. */
export async function signOut(isEverywhere = false): Promise<void> {
  const query = { everywhere: isEverywhere || undefined }
  try {
    await call('session', { method: 'DELETE', query, isTrial: true })
    beSignedOut()
  } catch (cause) {
    const isOver = cause instanceof ApiError && cause.status === 401
    const told = `The server did not sign this browser out: ${failureText(cause)} Try again.`
    beSignedOut(isOver ? undefined : told)
  }
}
