/** Addresses as text: `#/<screen>/<stream>?<parameters>`. */

export const SCREENS = [
  'explore',
  'views',
  'streams',
  'schema',
  'redaction',
  'usage',
  'alerts',
  'tokens',
] as const
export type Screen = (typeof SCREENS)[number]
/** Screens that begin with what there is of all streams. */
export const OF_ALL: readonly Screen[] = ['streams', 'alerts', 'tokens']

export interface Route {
  readonly screen: Screen
  /** The id of the stream that the screen is about; undefined: none is chosen. */
  readonly streamId: string | undefined
  readonly params: URLSearchParams
}

/** What is no address of ours is the main screen. */
export function readRoute(text: string): Route {
  const [, path = '', query = ''] = /^#?\/?([^?]*)\??(.*)$/s.exec(text) ?? []
  const [name, streamId] = path.split('/')
  const screen = SCREENS.find((known) => known === name) ?? 'explore'
  const isId = streamId !== undefined && /^[1-9][0-9]*$/.test(streamId)
  return { screen, streamId: isId ? streamId : undefined, params: firstOf(query) }
}

/** Of a parameter that is there several times the first counts. */
function firstOf(query: string): URLSearchParams {
  const params = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    if (!params.has(name)) params.set(name, value)
  }
  return new URLSearchParams([...params])
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

/** A list in a parameter; its items may hold anything. */
export function listText(items: readonly string[]): string {
  return items.map((item) => item.replace(/[%,]/g, encodeURIComponent)).join(',')
}

/** The same back. What is not written so is taken as it is. */
export function readList(text: string | null): readonly string[] {
  if (text === null || text === '') return []
  return text.split(',').map((item) => item.replace(/%2C|%25/gi, decodeURIComponent))
}

/** The same state as we write it. */
export function canonical(text: string): string {
  const { screen, streamId, params } = readRoute(text)
  return href(screen, streamId, Object.fromEntries(params))
}
