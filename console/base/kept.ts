/**
 * What the browser keeps for the person. Where it keeps nothing, as it is full or forbidden to,
 * things last as long as the tab: the page works all the same.
 */

interface Store {
  getItem(key: string): string | null
  setItem(key: string, text: string): void
  removeItem(key: string): void
}

/** To name it may throw already. */
const browser = globalThis as unknown as { readonly localStorage: Store }

export function readKept(key: string): string | undefined {
  try {
    return browser.localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** Whether it is kept; undefined removes it. */
export function keep(key: string, text: string | undefined): boolean {
  try {
    if (text === undefined) browser.localStorage.removeItem(key)
    else browser.localStorage.setItem(key, text)
    return true
  } catch {
    return false
  }
}
