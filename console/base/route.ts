/**
 * The address is the state: `#/<screen>/<stream>?<parameters>`. A link shows the same to everybody
 * who opens it, and Back works. It follows the hash, so that any path prefix will do.
 */
import { computed, signal } from '@preact/signals'

export const SCREENS = [
  'explore',
  'views',
  'streams',
  'schema',
  'redaction',
  'usage',
  'tokens',
] as const
export type Screen = (typeof SCREENS)[number]

export interface Route {
  readonly screen: Screen
  /** The id of the stream that the screen is about; undefined: none is chosen. */
  readonly streamId: string | undefined
  readonly params: URLSearchParams
}

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  hash.value = location.hash
})

export const route = computed<Route>(() => readRoute(hash.value))

/** What is no address of ours is the main screen. */
export function readRoute(text: string): Route {
  const [path = '', query = ''] = text.replace(/^#\/?/, '').split('?', 2)
  const [name, streamId] = path.split('/')
  const screen = SCREENS.find((known) => known === name) ?? 'explore'
  const isId = streamId !== undefined && /^[1-9][0-9]*$/.test(streamId)
  return { screen, streamId: isId ? streamId : undefined, params: new URLSearchParams(query) }
}

/** The address of a screen, for links. */
export function href(
  screen: Screen,
  streamId?: string,
  params: Readonly<Record<string, string | undefined>> = {},
): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== '') query.set(name, value)
  }
  const path = streamId === undefined ? screen : `${screen}/${streamId}`
  return `#/${path}${query.size === 0 ? '' : `?${query}`}`
}

/** Goes there; with `replace` without a step for Back. */
export function go(address: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(undefined, '', address)
  else history.replaceState(undefined, '', address)
  hash.value = address
}

/** Changes parameters of this screen; undefined and '' remove one. */
export function setParams(
  changes: Readonly<Record<string, string | undefined>>,
  how: 'push' | 'replace' = 'push',
): void {
  const { screen, streamId, params } = route.value
  go(href(screen, streamId, { ...Object.fromEntries(params), ...changes }), how)
}
