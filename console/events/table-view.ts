/** What of the list is seen, and where the focus goes in it. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { opened } from '../base/opened.ts'
import { arrivals } from '../base/route.ts'
import type { EventList } from '../explore/event-list.ts'
import { HEADER_PX, indexAt, ROW_PX } from './row-places.ts'

export type ScrollRef = { readonly current: HTMLDivElement | null }

/** Which part is seen, below the names of the columns, as it scrolls and changes its size. */
export function useView(scroll: ScrollRef) {
  const view = useSignal({ top: 0, height: 800 })
  useLayoutEffect(() => {
    const element = scroll.current!
    const look = () => {
      const { scrollTop: top, clientHeight } = element
      const { value: before } = view
      const height = clientHeight - HEADER_PX
      // Sideways nothing comes into sight.
      if (top !== before.top || height !== before.height) view.value = { top, height }
    }
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [])
  return view
}

/**
 * Rows that arrive above the visible ones do not move these. At the very top with nothing open,
 * though, new rows should be seen arriving.
 */
export function useAnchor(
  scroll: ScrollRef,
  keys: readonly string[],
  tops: Float64Array,
  hasOpen: boolean,
): void {
  const before = useRef<{ keys: readonly string[]; tops: Float64Array }>({ keys, tops })
  useLayoutEffect(() => {
    const element = scroll.current!
    const { keys: oldKeys, tops: oldTops } = before.current
    before.current = { keys, tops }
    if (keys[0] === oldKeys[0] || (element.scrollTop === 0 && !hasOpen)) return
    const anchor = indexAt(oldTops, element.scrollTop)
    const now = keys.indexOf(oldKeys[anchor] ?? '')
    if (now >= 0) element.scrollTop += tops[now]! - oldTops[anchor]!
    else element.scrollTop = 0
  })
}

/** Goes once to the first event that the address opens, when somebody came by it. */
export function useArrival(
  { state, isStale, isLoading }: EventList,
  keys: readonly string[],
  arriveAt: (index: number) => void,
): void {
  const turn = useRef<number | undefined>(undefined)
  useEffect(() => {
    const isSettled = state !== undefined && !isStale && !isLoading
    if (!isSettled || turn.current === arrivals.value) return
    turn.current = arrivals.value
    const index = keys.indexOf(opened.value[0]?.id ?? '')
    if (index >= 0) arriveAt(index)
  })
}

/** Brings the row of a key into sight, and gives it the focus as soon as it is in the document. */
export function useFocus(
  scroll: ScrollRef,
  keys: readonly string[],
  tops: Float64Array,
): (key: string) => void {
  const wanted = useRef<{ readonly key: string; isSeen: boolean } | undefined>(undefined)
  const turn = useSignal(0)
  void turn.value
  useLayoutEffect(() => {
    const { current } = wanted
    const index = current === undefined ? -1 : keys.indexOf(current.key)
    if (current === undefined || index < 0) return
    if (!current.isSeen) bringIntoSight(scroll.current!, tops[index]!)
    current.isSeen = true
    const row = scroll.current!.querySelector<HTMLElement>(`[data-index="${index}"]`)
    if (row === null) return
    wanted.current = undefined
    row.focus({ preventScroll: true })
  })
  return (key) => {
    wanted.current = { key, isSeen: false }
    turn.value++
  }
}

/** Moves no more than it must for the next row; what is far away gets room above and below it. */
function bringIntoSight(element: HTMLElement, top: number): void {
  const room = element.clientHeight - HEADER_PX
  const above = top - element.scrollTop
  const below = room - above - ROW_PX
  if (above >= 0 && below >= 0) return
  if (Math.min(above, below) < -2 * ROW_PX) element.scrollTop = top - room / 4
  else element.scrollTop = above < 0 ? top : top + ROW_PX - room
}
