/**
 * The events that are open, in the address as `event=17-3,18-0:around`: each with what of it is
 * shown, if that is not its fields. Opening the first is one step, which Back takes back.
 */
import { computed } from '@preact/signals'
import {
  type EventView,
  OPENED_MAX,
  type OpenedEvent,
  openedText,
  readOpened,
} from './opened-events.ts'
import { closeOver, openOver, route, setParams } from './route.ts'

export type { EventView, OpenedEvent } from './opened-events.ts'

export const opened = computed(() => readOpened(route.value.params.get('event')))

/** Opens what is closed, and closes what is open. */
export function toggleOpened(id: string): void {
  const { value: before } = opened
  const others = before.filter((one) => one.id !== id)
  if (others.length < before.length) return keepOpened(others)
  openOver({ event: openedText([...before.slice(1 - OPENED_MAX), { id, view: 'tree' }]) })
}

export function showView(id: string, view: EventView): void {
  const changed = opened.value.map((one) => (one.id === id ? { id, view } : one))
  setParams({ event: openedText(changed) }, 'keep')
}

/** Closes all others. */
export function keepOpened(events: readonly OpenedEvent[]): void {
  if (events.length === 0) closeOver({ event: undefined })
  else setParams({ event: openedText(events) }, 'keep')
}
