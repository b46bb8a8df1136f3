/** All streams, to be found by a part of their name and put in order: of use with a thousand. */
import { formatOf } from '../base/format.ts'
import { go, href, route, setParams } from '../base/route.ts'
import type { StreamInfo } from '../base/stream.ts'
import { Failure } from '../parts/failure.tsx'
import { type Column, listStreams, nextSort, readSort, type Sort } from './listed.ts'
import { StreamRow } from './stream-row.tsx'
import { useOverviews } from './usage-of.ts'

const COLUMNS: readonly (readonly [label: string, column?: Column, isNumber?: boolean])[] = [
  ['Name', 'name'],
  ['Events', 'events', true],
  ['As sent', 'sent', true],
  ['On disk', 'size', true],
  ['Newest event', 'newest'],
  ['Queries are behind by', 'lag'],
  ['State'],
  ['Kept for'],
]

export function StreamList({ all }: { all: readonly StreamInfo[] }) {
  const { value: usages, failure } = useOverviews()
  const { params } = route.value
  const text = params.get('name') ?? ''
  const sort = readSort(params.get('sort'))
  const listed = listStreams(all, usages, { text, sort })
  const [first] = listed
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && first !== undefined) go(href('streams', first.stream.id))
    else if (event.key === 'Escape') setParams({ name: undefined }, 'replace')
    else if (event.key === 'ArrowDown') document.querySelector<HTMLElement>(LINKS)?.focus()
    else return
    event.preventDefault()
  }
  return (
    <>
      <div class="toolbar list-bar">
        <input
          id="query"
          type="search"
          aria-label="Filter streams by name"
          placeholder="Filter by name (/)"
          spellcheck={false}
          value={text}
          onInput={(event) => setParams({ name: event.currentTarget.value }, 'replace')}
          onKeyDown={onKeyDown}
        />
        <span class="quiet" role="status">
          {listed.length < all.length
            ? `${listed.length} of ${formatOf(all.length, 'stream')}`
            : formatOf(all.length, 'stream')}
        </span>
      </div>
      {failure !== undefined && (
        <Failure text={`${usages ? 'These figures are old' : 'No figures'}: ${failure}`} />
      )}
      {listed.length === 0 ? (
        <p class="empty">No stream has that in its name.</p>
      ) : (
        <div class="scroll">
          <table class="table" onKeyDown={walk}>
            <thead>
              <tr>
                {COLUMNS.map(([label, column, isNumber]) => (
                  <Heading key={label} {...{ label, column, sort }} isNumber={isNumber === true} />
                ))}
              </tr>
            </thead>
            <tbody>
              {listed.map(({ stream, usage }) => (
                <StreamRow key={stream.id} stream={stream} usage={usage} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

interface HeadingProps {
  readonly label: string
  readonly column: Column | undefined
  readonly sort: Sort | undefined
  readonly isNumber: boolean
}

function Heading({ label, column, sort, isNumber }: HeadingProps) {
  const style = isNumber ? 'number' : undefined
  if (column === undefined) {
    return (
      <th scope="col" class={style}>
        {label}
      </th>
    )
  }
  const isSorted = sort?.column === column
  const direction = sort?.isDescending ? 'descending' : 'ascending'
  return (
    <th scope="col" class={style} aria-sort={isSorted ? direction : undefined}>
      <button
        type="button"
        class="sort"
        onClick={() => setParams({ sort: nextSort(column, sort) }, 'replace')}
      >
        {label}
        <span aria-hidden="true">{isSorted ? (sort.isDescending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>
  )
}

const LINKS = '.table tbody th a'

/** ↓ and ↑ go from stream to stream, and from the first back to the filter. */
function walk(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  const links = [...document.querySelectorAll<HTMLElement>(LINKS)]
  const at = links.indexOf(document.activeElement as HTMLElement)
  if (step === 0 || at < 0) return
  event.preventDefault()
  const next = at + step
  if (next < 0) document.getElementById('query')?.focus()
  else links[next]?.focus()
}
