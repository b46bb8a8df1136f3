/** Who is signed in. The token lives as long as the tab: it is in no cookie, no URL and no disk. */
import { signal } from '@preact/signals'

const KEY = 'sluice.token'

/** Undefined when nobody is signed in. */
export const token = signal<string | undefined>(sessionStorage.getItem(KEY) ?? undefined)
/** Why the person has to sign in again; shown beside the form. */
export const signedOutBecause = signal<string | undefined>(undefined)

export function signIn(text: string): void {
  sessionStorage.setItem(KEY, text)
  signedOutBecause.value = undefined
  token.value = text
}

export function signOut(because?: string): void {
  sessionStorage.removeItem(KEY)
  signedOutBecause.value = because
  token.value = undefined
}
