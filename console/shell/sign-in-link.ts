import { ApiError, callJson, failureText } from '../base/api.ts'
import { signIn, signOut } from '../base/session.ts'

const TRIES_MAX = 5
const RETRY_MS = 1_000

/**
 * The address `#sign-in=<code>` is that of the first start's link: its code can be exchanged for a
 * token, once. It is removed from the address bar and the history in any case. A failure of the
 * service does not spend the code: then it is tried again, and after that the link can be opened
 * again.
 */
export async function signInByLink(): Promise<void> {
  const [, code] = /^#sign-in=([\w-]+)$/.exec(location.hash) ?? []
  if (code === undefined) return
  history.replaceState(undefined, '', '#/')
  for (let tries = 1; ; tries++) {
    try {
      const call = { method: 'POST', body: { code }, token: null } as const
      const answer = await callJson<{ token: string }>('sign-in', call)
      return signIn(answer.token)
    } catch (cause) {
      if (isRefusal(cause)) return signOut(`The sign-in link did not work: ${failureText(cause)}`)
      if (tries === TRIES_MAX) {
        return signOut(`The sign-in link still works, open it again: ${failureText(cause)}`)
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** Whether the same code would be refused again. */
function isRefusal(cause: unknown): boolean {
  return cause instanceof ApiError && cause.status >= 400 && cause.status < 429
}
