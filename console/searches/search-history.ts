/**
 * The last searches of this browser: query, stream, range, clock. They hold the text of queries,
 * which may name people; so they stay in this browser, can be forgotten, and need not be kept at
 * all where others use the machine.
 */
import { signal } from '@preact/signals'
import { clockParam } from '../base/clock.ts'
import { href } from '../base/route.ts'
import type { Ask } from '../explore/ask.ts'
import { OFF, type PastSearch, readSearches, withSearch } from './past-searches.ts'

const KEY = 'sluice.searches'
/** The newest first; undefined: they are not kept. */
export const pastSearches = signal(readSearches(localStorage.getItem(KEY)))

/** Nothing is kept of a query that cannot be read: the caller sees to that. */
export function rememberSearch(asked: Ask): void {
  if (pastSearches.value !== undefined) keep(withSearch(pastSearches.value, asked, Date.now()))
}

export function forgetSearches(): void {
  if (pastSearches.value !== undefined) keep([])
}

/** Where they are not kept, those that were are gone. */
export function keepSearches(isKept: boolean): void {
  keep(isKept ? [] : undefined)
}

/** The address of the same search. */
export function searchAddress({ streamId, query, from, to, clock }: PastSearch): string {
  const basis = clockParam(clock)
  return href('explore', streamId, { q: query, from, to: to === 'now' ? undefined : to, basis })
}

function keep(all: readonly PastSearch[] | undefined): void {
  pastSearches.value = all
  tryStore(all === undefined ? OFF : JSON.stringify(all))
}

/** False where there is no room, or none for this page: then they last as long as the tab. */
function tryStore(text: string): boolean {
  try {
    localStorage.setItem(KEY, text)
    return true
  } catch {
    return false
  }
}
