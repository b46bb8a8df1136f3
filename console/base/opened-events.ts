/** Open events as the address has them: `17-3,18-0:around`. */
import { listText, readList } from './address.ts'

export const EVENT_VIEWS = ['tree', 'raw', 'around'] as const
export type EventView = (typeof EVENT_VIEWS)[number]

export interface OpenedEvent {
  readonly id: string
  readonly view: EventView
}

/** More are not told in an address: the one that was opened first is closed. */
export const OPENED_MAX = 20
const PART = /^(\d{1,19}-\d{1,10})(?::(\w+))?$/

export function readOpened(text: string | null): readonly OpenedEvent[] {
  const found = new Map<string, OpenedEvent>()
  for (const part of readList(text)) {
    const [, id, name] = PART.exec(part) ?? []
    const view = EVENT_VIEWS.find((known) => known === name) ?? 'tree'
    if (id !== undefined && found.size < OPENED_MAX) found.set(id, { id, view })
  }
  return [...found.values()]
}

export function openedText(events: readonly OpenedEvent[]): string {
  return listText(events.map(({ id, view }) => (view === 'tree' ? id : `${id}:${view}`)))
}
