/**
 * The last searches of this browser: query, stream, range, clock. They hold the text of queries,
 * which may name people; so they stay in this browser, can be forgotten, and need not be kept at
 * all where others use the machine.
 */
import { signal } from '@preact/signals'
import { clockParam } from '../base/clock.ts'
import { keep, readKept } from '../base/kept.ts'
import { href } from '../base/route.ts'
import type { Ask } from '../explore/ask.ts'
import { OFF, type PastSearch, readSearches, withSearch } from './past-searches.ts'

const KEY = 'sluice.searches'
/** The newest first; undefined: they are not kept. */
export const pastSearches = signal(readSearches(readKept(KEY)))

// What another tab forgets, or does not keep any more, is not kept by this one.
addEventListener('storage', ({ key, newValue }) => {
  if (key === KEY || key === null) pastSearches.value = readSearches(newValue ?? undefined)
})

/** Nothing is kept of a query that cannot be read: the caller sees to that. */
export function rememberSearch(asked: Ask): void {
  if (pastSearches.value !== undefined) keepAll(withSearch(pastSearches.value, asked, Date.now()))
}

export function forgetSearches(): void {
  if (pastSearches.value !== undefined) keepAll([])
}

/** Where they are not kept, those that were are gone. */
export function keepSearches(isKept: boolean): void {
  keepAll(isKept ? [] : undefined)
}

/** The address of the same search. */
export function searchAddress({ streamId, query, from, to, clock }: PastSearch): string {
  const basis = clockParam(clock)
  return href('explore', streamId, { q: query, from, to: to === 'now' ? undefined : to, basis })
}

function keepAll(all: readonly PastSearch[] | undefined): void {
  pastSearches.value = all
  keep(KEY, all === undefined ? OFF : JSON.stringify(all))
}
