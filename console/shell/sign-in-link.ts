import { ApiError, failureText } from '../base/api.ts'
import { beSignedOut } from '../base/session.ts'
import { signInByCode } from '../base/sign-in.ts'

const TRIES_MAX = 5
const RETRY_MS = 1_000

/**
 * The address `#sign-in=<code>` is that of the first start's link: its code signs a browser in,
 * once. It is removed from the address bar and the history in any case. A failure of the service
 * does not spend the code: then it is tried again, and after that the link can be opened again.
 */
export async function signInByLink(): Promise<void> {
  const [, code] = /^#sign-in=([\w-]+)$/.exec(location.hash) ?? []
  if (code === undefined) return
  history.replaceState(undefined, '', '#/')
  for (let tries = 1; ; tries++) {
    try {
      return await signInByCode(code)
    } catch (cause) {
      if (!(cause instanceof ApiError) || isRefusal(cause)) {
        return beSignedOut(`The sign-in link did not work: ${failureText(cause)}`)
      }
      if (tries === TRIES_MAX) {
        return beSignedOut(`The sign-in link still works, open it again: ${failureText(cause)}`)
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** Whether the same code would be refused again. */
function isRefusal({ status }: ApiError): boolean {
  return status >= 400 && status < 429
}
