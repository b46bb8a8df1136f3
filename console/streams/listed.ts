/** Which streams the list shows, and in which order: what the address says. */

/** What is looked at of a stream, and of its usage. */
interface Named {
  readonly id: string
  readonly name: string
  readonly owner: string
}
interface Figures {
  readonly events: number
  readonly raw_bytes: number
  readonly stored_bytes: { readonly raw: number; readonly projection: number }
  readonly newest_event_at: string | null
  readonly lag_seconds: number
}

export interface Listed<S = Named, U = Figures> {
  readonly stream: S
  /** Undefined until it is known. */
  readonly usage: U | undefined
}

export type Column = 'name' | 'events' | 'sent' | 'size' | 'newest' | 'lag'

/** By each column; of figures the largest comes first when it is chosen. */
const VALUES: Readonly<Record<Column, (listed: Listed) => string | number>> = {
  name: ({ stream }) => stream.name,
  events: ({ usage }) => usage?.events ?? -1,
  sent: ({ usage }) => usage?.raw_bytes ?? -1,
  size: ({ usage }) => (usage ? sizeOf(usage) : -1),
  newest: ({ usage }) => (usage?.newest_event_at ? Date.parse(usage.newest_event_at) : -1),
  lag: ({ usage }) => usage?.lag_seconds ?? -1,
}
const NAMES = new Intl.Collator('en', { numeric: true })

export function sizeOf({ stored_bytes: { raw, projection } }: Figures): number {
  return raw + projection
}

export interface Sort {
  readonly column: Column
  readonly isDescending: boolean
}

/** Of the address: `events`, or `-events` for the largest first. */
export function readSort(text: string | null): Sort | undefined {
  const name = text?.replace(/^-/, '') ?? ''
  if (!Object.hasOwn(VALUES, name)) return undefined
  return { column: name as Column, isDescending: text!.startsWith('-') }
}

/** What the address says when the heading of `column` is clicked: the other way round, or anew. */
export function nextSort(column: Column, sort: Sort | undefined): string {
  const isDescending = sort?.column === column ? !sort.isDescending : column !== 'name'
  return `${isDescending ? '-' : ''}${column}`
}

/** Those with all words of `text` in name or owner, or this id. Equal ones keep their order. */
export function listStreams<S extends Named, U extends Figures>(
  all: readonly S[],
  usages: ReadonlyMap<string, U> | undefined,
  { text, sort }: { readonly text: string; readonly sort: Sort | undefined },
): readonly Listed<S, U>[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isShown = ({ id, name, owner }: S) => {
    const known = `${name} ${owner}`.toLowerCase()
    return words.every((word) => known.includes(word)) || text.trim() === id
  }
  const listed = all.filter(isShown).map((stream) => ({ stream, usage: usages?.get(stream.id) }))
  if (sort === undefined) return listed
  const valueIn = VALUES[sort.column]
  const sign = sort.isDescending ? -1 : 1
  return listed.sort((a, b) => {
    const [one, other] = [valueIn(a), valueIn(b)]
    const order = typeof one === 'string' ? NAMES.compare(one, String(other)) : one - Number(other)
    return sign * order
  })
}
