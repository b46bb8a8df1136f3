/**
 * The address is the state: `#/<screen>/<stream>?<parameters>`. A link shows the same to everybody
 * who opens it, and Back works. It follows the hash, so that any path prefix will do.
 */
import { computed, signal } from '@preact/signals'
import { canonical, href, type Route, readRoute } from './address.ts'

export { href, listText, OF_ALL, type Route, readList, SCREENS, type Screen } from './address.ts'

const hash = signal(location.hash)
/** Rises when somebody comes to an address by a link, by Back, or by typing it. */
export const arrivals = signal(0)
addEventListener('hashchange', () => {
  if (location.hash === hash.value) return
  hash.value = location.hash
  arrivals.value++
})

export const route = computed<Route>(() => readRoute(hash.value))

/** How an address is left: with a step for Back, without, or without and what is open stays so. */
type How = 'push' | 'replace' | 'keep'

/** Goes there. */
export function go(address: string, how: How = 'push'): void {
  if (how === 'push') history.pushState(undefined, '', address)
  else history.replaceState(how === 'keep' ? history.state : undefined, '', address)
  hash.value = address
}

type Changes = Readonly<Record<string, string | undefined>>

/** Changes parameters of this screen; undefined and '' remove one. */
export function setParams(changes: Changes, how: How = 'push'): void {
  go(changed(changes), how)
}

/** The address with these parameters changed. */
export function changed(changes: Changes): string {
  const { screen, streamId, params } = route.value
  return href(screen, streamId, { ...Object.fromEntries(params), ...changes })
}

let isGoingBack = false
addEventListener('popstate', () => {
  isGoingBack = false
})

/** Runs at once, or when Back has been gone. */
function whenThere(run: () => void): void {
  if (isGoingBack) addEventListener('popstate', run, { once: true })
  else run()
}

/** Opens something over what is shown: however much is, in turn, it is one step for Back. */
export function openOver(changes: Changes): void {
  whenThere(() => {
    const { value: under } = hash
    const address = changed(changes)
    if (isOver(history.state)) return go(address, 'keep')
    history.pushState({ under }, '', address)
    hash.value = address
  })
}

/** Closes it: goes back where that leads to just what is under it. */
export function closeOver(changes: Changes): void {
  whenThere(() => {
    const address = changed(changes)
    const { state } = history
    if (!isOver(state) || canonical(state.under) !== address) return go(address, 'keep')
    isGoingBack = true
    hash.value = state.under
    history.back()
  })
}

export function openDialog(name: string): void {
  openOver({ dialog: name })
}

/** A dialog may tell of its end a little later: by then another one may be open. */
export function closeDialog(name: string): void {
  if (route.value.params.get('dialog') === name) closeOver({ dialog: undefined })
}

function isOver(state: unknown): state is { readonly under: string } {
  return typeof (state as { readonly under?: unknown } | null)?.under === 'string'
}
