/**
 * The query's box: a text area over its own coloured text, with a list of proposals below it.
 * Enter runs the query, Shift+Enter starts a new line. Mistakes are shown during typing, by the
 * same parser that the service has; typing never waits for the network. What is typed lies over
 * what is below, and moves nothing: there is as much room as the query takes that is shown.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { isSameQuery } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import { visibleLine, visibleText } from '../../src/language/visible-text.ts'
import { setParams } from '../base/route.ts'
import { ask } from '../explore/ask.ts'
import { EarlierSearches } from '../searches/earlier-searches.tsx'
import { rememberSearch } from '../searches/search-history.ts'
import { carried } from './carried.ts'
import { type Proposal, propose } from './completion.ts'
import { highlight } from './highlight.ts'

const PROPOSE_MS = 80

/** A query that means the same in which all is seen, where there is one. */
function shownQuery(query: string): string {
  const shown = visibleText(query)
  if (shown === query) return query
  try {
    return isSameQuery(parse(shown), parse(query)) ? shown : query
  } catch {
    return query
  }
}

/** What was asked is remembered as long as it can be read. */
function useRemembered(): void {
  const { value: asked } = ask
  const { streamId, query, from, to, clock } = asked
  useEffect(() => {
    if (query !== '' && highlight(query).error === undefined) rememberSearch(asked)
  }, [streamId, query, from, to, clock])
}

/** `onAgain`: the query that is there already is asked once more. */
export function QueryBox({ onAgain }: { onAgain: () => void }) {
  const { streamId } = ask.value
  const query = shownQuery(ask.value.query)
  const text = useSignal(query)
  const proposals = useSignal<readonly Proposal[]>([])
  const chosen = useSignal(-1)
  const box = useRef<HTMLTextAreaElement>(null)
  const asked = useRef<AbortController | undefined>(undefined)
  const listId = useId()
  const isLookingBack = useSignal(false)
  useRemembered()
  const close = () => {
    asked.current?.abort()
    proposals.value = []
    chosen.value = -1
  }
  useEffect(() => {
    text.value = query
    close()
  }, [query])
  const run = () => {
    close()
    const typed = text.value.trim()
    if (typed === query) onAgain()
    else setParams({ q: typed })
  }
  const lookUp = () => {
    asked.current?.abort()
    const gone = new AbortController()
    asked.current = gone
    const at = box.current?.selectionStart ?? text.value.length
    const start = setTimeout(() => {
      propose(streamId, text.value, at, gone.signal).then(
        (found) => {
          if (gone.signal.aborted) return
          proposals.value = found
          chosen.value = -1
        },
        () => undefined, // Without proposals one can type all the same.
      )
    }, PROPOSE_MS)
    gone.signal.addEventListener('abort', () => clearTimeout(start))
  }
  const type = (typed: string) => {
    const { label } = proposals.value[chosen.value] ?? {}
    proposals.value = carried(proposals.value, text.value, typed)
    chosen.value = proposals.value.findIndex((one) => one.label === label)
    text.value = typed
    lookUp()
  }
  const take = (proposal: Proposal) => {
    const { start, end, insert } = proposal
    text.value = text.value.slice(0, start) + insert + text.value.slice(end)
    close()
    queueMicrotask(() => {
      box.current?.focus()
      box.current?.setSelectionRange(start + insert.length, start + insert.length)
      if (insert.endsWith(':')) lookUp()
    })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const { length } = proposals.value
    const picked = proposals.value[chosen.value]
    if (event.key === 'Escape') {
      if (length === 0) box.current?.blur()
      close()
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      if (picked) take(picked)
      else run()
    } else if (event.key === 'Tab' && length > 0 && !event.shiftKey) {
      event.preventDefault()
      take(picked ?? proposals.value[0]!)
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (length === 0) {
        if (event.key === 'ArrowDown' || text.value !== '') return
        event.preventDefault()
        isLookingBack.value = true
        return
      }
      event.preventDefault()
      const step = event.key === 'ArrowDown' ? 1 : -1
      chosen.value = (chosen.value + step + length + 1) % (length + 1)
      if (chosen.value === length) chosen.value = -1
    } else if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault()
      lookUp()
    }
  }
  const { parts, error } = highlight(text.value)
  return (
    <div class="query">
      <div class="query-room">
        <pre aria-hidden="true">
          {query}
          {'\n'}
        </pre>
        <div class="query-layer">
          <div class={error ? 'query-box is-wrong' : 'query-box'}>
            <pre aria-hidden="true">
              {parts.map((part, index) => (
                <span key={index} class={`part-${part.kind}`}>
                  {part.text}
                </span>
              ))}
              {'\n'}
            </pre>
            <textarea
              ref={box}
              id="query"
              aria-label="Query"
              aria-autocomplete="list"
              aria-haspopup="listbox"
              aria-controls={proposals.value.length > 0 ? listId : undefined}
              aria-activedescendant={chosen.value < 0 ? undefined : `${listId}-${chosen.value}`}
              aria-invalid={error !== undefined}
              aria-describedby="query-error"
              rows={1}
              spellcheck={false}
              autocomplete="off"
              placeholder="error   service:cart   status:>=500   &quot;timed out&quot;   all events when empty"
              value={text.value}
              onInput={(event) => type(event.currentTarget.value)}
              onKeyDown={onKeyDown}
              onBlur={close}
            />
          </div>
          <p id="query-error" class="query-error" role="status">
            {error && visibleLine(error.message)}
            {!error && visibleText(text.value) !== text.value && (
              <>
                ▲ not all characters of this are seen: <bdi>{visibleLine(text.value)}</bdi>
              </>
            )}
          </p>
          {proposals.value.length > 0 && (
            <div class="proposals" id={listId} role="listbox" aria-label="Proposals">
              {proposals.value.map((proposal, index) => (
                <div
                  key={proposal.label}
                  id={`${listId}-${index}`}
                  role="option"
                  aria-selected={index === chosen.value}
                  tabIndex={-1}
                  onPointerDown={(event) => {
                    event.preventDefault()
                    take(proposal)
                  }}
                >
                  <bdi class="mono">{visibleLine(proposal.label)}</bdi>
                  <span class="quiet">{proposal.note}</span>
                </div>
              ))}
            </div>
          )}
        </div>
      </div>
      <button
        type="button"
        id="history"
        title="Earlier searches (↑ in an empty query)"
        aria-label="Earlier searches"
        onClick={() => (isLookingBack.value = true)}
      >
        <span aria-hidden="true">↶</span>
      </button>
      {isLookingBack.value && <EarlierSearches onClose={() => (isLookingBack.value = false)} />}
      <button type="button" class="primary" disabled={error !== undefined} onClick={run}>
        Search
      </button>
    </div>
  )
}
