/** The view that the address was opened from: its name, and what of it is not shown here. */
import type { Signal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { callJson } from '../base/api.ts'
import { type Loaded, useLoaded } from '../base/loaded.ts'
import { unshownOf, type ViewInfo } from '../base/view.ts'

/** Loads the view of this id, anew with each `turn`; nothing without one. */
export function useOpenedView(
  streamId: string | undefined,
  viewId: string | null,
  turn: Signal<number>,
): Loaded<ViewInfo | undefined> {
  return useLoaded(
    `${streamId} ${viewId}`,
    async (signal) => {
      if (streamId === undefined || viewId === null || !/^\d+$/.test(viewId)) return undefined
      return await callJson<ViewInfo>(`streams/${streamId}/views/${viewId}`, { signal })
    },
    { turn },
  )
}

export function OpenedView({ opened }: { opened: Loaded<ViewInfo | undefined> }) {
  const { value: view, failure, isStale } = opened
  if (isStale) return null
  if (failure !== undefined) {
    return <p class="hint">The view of this address cannot be read: {visibleLine(failure)}</p>
  }
  if (view === undefined) return null
  const unshown = unshownOf(view)
  return (
    <p class="opened-view" role="status">
      View <bdi class="name">{visibleLine(view.name)}</bdi>
      {unshown.length > 0 && (
        <span class="warn">
          {' '}
          · ▲ not shown here, and kept when it is saved:{' '}
          {unshown.map((one, index) => (
            <span key={one}>
              {index > 0 && '; '}
              <bdi>{one}</bdi>
            </span>
          ))}
        </span>
      )}
    </p>
  )
}
