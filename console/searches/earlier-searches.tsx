/** The searches of this browser, to be asked again. */
import { useEffect, useRef } from 'preact/hooks'
import { visibleLine } from '../../src/language/visible-text.ts'
import { CLOCK_NAMES } from '../base/clock.ts'
import { formatAgo } from '../base/format.ts'
import { go } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { rangeLabel } from '../base/time.ts'
import { Dialog } from '../parts/dialog.tsx'
import { CheckField } from '../parts/form.tsx'
import type { PastSearch } from './past-searches.ts'
import { forgetSearches, keepSearches, pastSearches, searchAddress } from './search-history.ts'

export function EarlierSearches({ onClose }: { onClose: () => void }) {
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => list.current?.querySelector('button')?.focus(), [])
  // Of streams that this token sees: another may have been signed in before.
  const seen = pastSearches.value?.filter(({ streamId: id }) => !id || findStream(id))
  return (
    <Dialog title="Earlier searches" onClose={onClose} isWide>
      {seen?.length === 0 && <p class="quiet">Nothing was searched for yet.</p>}
      {seen !== undefined && seen.length > 0 && (
        <ul class="earlier" ref={list} onKeyDown={walk}>
          {seen.map((search) => (
            <li key={`${search.streamId} ${search.query}`}>
              <Search search={search} onClose={onClose} />
            </li>
          ))}
        </ul>
      )}
      <CheckField
        label="Keep searches in this browser"
        hint=" The text of queries stays on this machine, for all who use this browser. Turn it off where others do."
        checked={pastSearches.value !== undefined}
        onChange={keepSearches}
      />
      <div class="buttons">
        {(pastSearches.value?.length ?? 0) > 0 && (
          <button type="button" class="danger" onClick={forgetSearches}>
            Forget all
          </button>
        )}
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

interface SearchProps {
  readonly search: PastSearch
  readonly onClose: () => void
}

function Search({ search, onClose }: SearchProps) {
  const { streamId, query, from, to, clock, atMs } = search
  const about = [
    findStream(streamId)?.name ?? 'all streams',
    `${rangeLabel(from, to)}, by ${CLOCK_NAMES[clock].toLowerCase()}`,
    formatAgo(atMs),
  ]
  return (
    <button
      type="button"
      onClick={() => {
        onClose()
        go(searchAddress(search))
      }}
    >
      <bdi class="mono">{visibleLine(query)}</bdi>
      <span class="quiet">{about.join(' · ')}</span>
    </button>
  )
}

/** ↓ and ↑ go from search to search. */
function walk(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const list = event.currentTarget as HTMLElement
  const buttons = [...list.querySelectorAll('button')]
  buttons[buttons.indexOf(document.activeElement as HTMLButtonElement) + step]?.focus()
}
