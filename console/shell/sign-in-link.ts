import { callJson, failureText } from '../base/api.ts'
import { signIn, signOut } from '../base/session.ts'

/**
 * The address `#sign-in=<code>` is that of the first start's link: its code can be exchanged for a
 * token, once. It is removed from the address bar and the history in any case.
 */
export async function signInByLink(): Promise<void> {
  const [, code] = /^#sign-in=([\w-]+)$/.exec(location.hash) ?? []
  if (code === undefined) return
  history.replaceState(undefined, '', '#/')
  try {
    const call = { method: 'POST', body: { code }, token: null } as const
    const answer = await callJson<{ token: string }>('sign-in', call)
    signIn(answer.token)
  } catch (cause) {
    signOut(`The sign-in link did not work: ${failureText(cause)}`)
  }
}
