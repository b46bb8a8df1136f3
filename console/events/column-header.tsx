/**
 * The names of the columns. One stop for Tab, left and right go from name to name; with Shift they
 * move the column, + and − change its width, Delete removes it. The same by the menu of each, and
 * by the mouse: a name is dragged to another place, its right edge to another width.
 */
import { type Signal, useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { visibleLine } from '../../src/language/visible-text.ts'
import { CLOCK_NAMES } from '../base/clock.ts'
import { fieldText } from '../base/field.ts'
import { route, setParams } from '../base/route.ts'
import { zoneName } from '../base/time.ts'
import type { Ask } from '../explore/ask.ts'
import { type Drag, useDrag } from './column-drag.ts'
import { ColumnMenu, type MenuItem } from './column-menu.tsx'
import {
  type Column,
  columnName,
  headName,
  hiddenOf,
  moved,
  NOTHING_CHOSEN,
  type Params,
  removed,
  resized,
  widened,
} from './columns.ts'
import { cellClass } from './event-row.tsx'

/** What the names and their menu share. */
export interface HeaderState {
  readonly row: { current: HTMLDivElement | null }
  /** The name whose menu is open. */
  readonly menu: Signal<string | undefined>
  /** Changes the address, and leaves the focus at the name. */
  readonly change: (params: Params | undefined, name: string) => void
}

export function useHeader(): HeaderState {
  const row = useRef<HTMLDivElement>(null)
  const menu = useSignal<string | undefined>(undefined)
  const focus = useNameFocus(row)
  const change = (params: Params | undefined, name: string) => {
    if (params !== undefined) setParams(params, 'replace')
    focus(name)
  }
  return { row, menu, change }
}

interface HeaderProps {
  readonly state: HeaderState
  readonly columns: readonly Column[]
  readonly ask: Ask
}

const TIME = 'time'

export function HeaderRow({ state, columns, ask }: HeaderProps) {
  const { row, menu } = state
  const drag = useDrag(state, columns)
  const time = CLOCK_NAMES[ask.clock]
  return (
    <div role="rowgroup" class="event-head">
      <div class="event-row is-header" role="row" aria-rowindex={1} ref={row}>
        <span
          role="columnheader"
          class="cell time"
          aria-sort={ask.order === 'newest' ? 'descending' : 'ascending'}
        >
          <button
            type="button"
            class="plain name"
            data-name={TIME}
            title={`${time} (${zoneName()}), the ${ask.order} first`}
            aria-haspopup="menu"
            aria-expanded={menu.value === TIME}
            onClick={() => toggle(menu, TIME)}
            onKeyDown={(event) => goToName(event, row.current!)}
          >
            {time}
            <span class="zone"> ({zoneName()})</span>
          </button>
        </span>
        <span role="columnheader" class="cell level-cell" title="Level">
          Level
        </span>
        {ask.streamId === undefined && (
          <span role="columnheader" class="cell is-stream">
            Stream
          </span>
        )}
        {columns.map((column, index) => (
          <NameCell key={columnName(column)} {...{ column, index, columns, drag, state }} />
        ))}
      </div>
    </div>
  )
}

function toggle(menu: Signal<string | undefined>, name: string): void {
  menu.value = menu.value === name ? undefined : name
}

/** The open menu; nothing else of the grid is in it, so it stands beside the grid. */
export function HeaderMenu({ state, columns, ask }: HeaderProps) {
  const { row, menu, change } = state
  const { value: name } = menu
  if (name === undefined) return null
  const at = columns.findIndex((column) => headName(column) === name)
  if (at < 0 && name !== TIME) return null
  const close = () => {
    menu.value = undefined
  }
  return (
    <ColumnMenu
      key={name}
      label={at < 0 ? CLOCK_NAMES[ask.clock] : titleOf(columns[at]!)}
      items={at < 0 ? timeItems(ask) : itemsOf(columns, at, row)}
      under={() => nameIn(row.current!, name)}
      onPick={(params) => {
        close()
        change(params, name)
      }}
      onClose={close}
    />
  )
}

export function titleOf(column: Column): string {
  if (column.kind === 'line') return 'Event'
  const text = fieldText(column.field)
  return text === '_service' ? 'Service' : visibleLine(text)
}

type RowRef = { readonly current: HTMLDivElement | null }

interface NameProps {
  readonly column: Column
  readonly index: number
  readonly columns: readonly Column[]
  readonly drag: Drag
  readonly state: HeaderState
}

function NameCell({ column, index, columns, drag, state: { row, menu, change } }: NameProps) {
  const name = headName(column)
  const title = titleOf(column)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const isShifted = event.shiftKey && event.key.startsWith('Arrow')
    const pressed = isShifted ? `Shift+${event.key}` : event.key
    const item = itemsOf(columns, index, row).find(({ keys }) => keys?.includes(pressed))
    if (item === undefined) return goToName(event, row.current!)
    event.preventDefault()
    event.stopPropagation()
    change(item.params(), name)
  }
  const isDrop = drag.drop.value === index
  return (
    <span
      role="columnheader"
      class={`cell ${cellClass(column, index, columns)} ${isDrop ? 'is-drop' : ''}`}
      style={{ width: `var(--w${index}, var(--w))` }}
    >
      <button
        type="button"
        class="plain name"
        data-name={name}
        tabIndex={-1}
        title={`${title}: drag to move; more with a click`}
        aria-haspopup="menu"
        aria-expanded={menu.value === name}
        aria-keyshortcuts="Shift+ArrowLeft Shift+ArrowRight + - Delete"
        onClick={({ detail }) => {
          // By a key it ends no drag, whenever one was.
          if (detail === 0 || !drag.ended()) toggle(menu, name)
        }}
        onKeyDown={onKeyDown}
        {...drag.ofName(index)}
      >
        <bdi>{title}</bdi>
      </button>
      <span class="grip" aria-hidden="true" {...drag.ofEdge(index)} />
    </span>
  )
}

function shownWidth(row: RowRef, column: Column): number {
  return nameIn(row.current!, headName(column))?.parentElement?.offsetWidth ?? 0
}

function nameIn(row: HTMLElement, name: string): HTMLElement | undefined {
  return namesIn(row).find(({ dataset }) => dataset.name === name)
}

function namesIn(row: HTMLElement): readonly HTMLElement[] {
  return [...row.querySelectorAll<HTMLElement>('.name')]
}

function goToName(event: KeyboardEvent, row: HTMLElement): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  event.stopPropagation()
  const names = namesIn(row)
  const next = names[names.indexOf(event.currentTarget as HTMLElement) + step]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
}

/** What can be done with a column, and the keys on its name that do it. */
function itemsOf(columns: readonly Column[], at: number, row: RowRef): readonly MenuItem[] {
  const { params } = route.value
  const column = columns[at]!
  const wider = (by: -1 | 1) => () => widened(column, shownWidth(row, column), by, params)
  const move = (by: -1 | 1) => () => moved(columns, at, by)
  return [
    { label: 'Move left', hint: 'Shift ←', keys: ['Shift+ArrowLeft'], params: move(-1) },
    { label: 'Move right', hint: 'Shift →', keys: ['Shift+ArrowRight'], params: move(1) },
    { label: 'Wider', hint: '+', keys: ['+', '='], params: wider(1) },
    { label: 'Narrower', hint: '−', keys: ['-'], params: wider(-1) },
    { label: 'Usual width', params: () => resized(column, undefined, params) },
    {
      label: 'Remove',
      hint: 'Delete',
      keys: ['Delete', 'Backspace'],
      params: () => removed(columns, at),
    },
    ...shownAgain(),
  ]
}

function timeItems({ order, isLive }: Ask): readonly MenuItem[] {
  const other = order === 'newest' ? 'oldest' : undefined
  const label = order === 'newest' ? 'Oldest first' : 'Newest first'
  return [
    ...(isLive ? [] : [{ label, hint: 'o', params: () => ({ order: other }) }]),
    ...shownAgain(),
    { label: 'Columns as at first', params: () => NOTHING_CHOSEN },
  ]
}

function shownAgain(): readonly MenuItem[] {
  return hiddenOf(route.value.params).map((name) => ({
    label: name === 'line' ? 'Show the event' : 'Show the service',
    params: () => ({ [name]: undefined }),
  }))
}

/** Gives the focus back to a name whose column was changed: it may be another element by then. */
function useNameFocus(row: RowRef): (name: string) => void {
  const wanted = useRef<string | undefined>(undefined)
  const turn = useSignal(0)
  void turn.value
  useLayoutEffect(() => {
    if (wanted.current === undefined) return
    const name = nameIn(row.current!, wanted.current) ?? namesIn(row.current!)[0]
    wanted.current = undefined
    name?.focus()
  })
  return (name) => {
    wanted.current = name
    turn.value++
  }
}
