/**
 * Whether somebody is signed in. What proves it is a cookie that no script can read; kept here is
 * only that there is one, which other tabs hear of.
 */
import { signal } from '@preact/signals'
import { keep, readKept } from './kept.ts'

/** Pages of other services may be under the same host. */
const KEY = `sluice.session ${location.pathname}`

/** Another one after each sign-in; undefined when nobody is signed in. */
export const session = signal<string | undefined>(readKept(KEY))
/** Why the person has to sign in again; shown beside the form. */
export const signedOutBecause = signal<string | undefined>(undefined)

addEventListener('storage', ({ key, newValue }) => {
  if (key === KEY || key === null) session.value = newValue ?? undefined
})

/** The browser has the cookie. */
export function beSignedIn(): void {
  const name = new Date().toISOString()
  keep(KEY, name)
  signedOutBecause.value = undefined
  session.value = name
}

/** The cookie is gone, or is not taken any more. */
export function beSignedOut(because?: string): void {
  keep(KEY, undefined)
  signedOutBecause.value = because
  session.value = undefined
}
