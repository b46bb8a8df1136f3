import { useContext } from 'preact/hooks'
import { type JsonSpan, jsonKind, jsonString, jsonText } from '../base/exact-json.ts'
import { COLUMNS_MAX, type EventField, fieldText } from '../base/field.ts'
import { go, route, setParams } from '../base/route.ts'
import { ask } from '../explore/ask.ts'
import { filterBy } from '../explore/filter-by.ts'
import { clauseFor } from '../explore/filters.ts'
import { copy } from '../parts/copy-button.tsx'
import { tell } from '../parts/notices.tsx'
import { columnName, columnsOf, removed, withColumns } from './columns.ts'
import type { EventRecord } from './event.ts'
import { everywhere, OpenedContext, sameClause } from './opened-event.ts'
import { fieldAt, isSeen, type Place } from './place.ts'

export interface ValueAction {
  readonly key: string
  readonly label: string
  readonly title: string
  readonly isOn?: boolean
  readonly run: () => void
}

/** What one can do with the value at `place`; what would not be about it is left out. */
export function actionsOf(
  place: Place | undefined,
  value: JsonSpan,
  event: EventRecord | undefined,
): readonly ValueAction[] {
  const { columns } = ask.value
  const field = fieldAt(place)
  const clause = field && clauseFor(field, value)
  const name = field && fieldText(field)
  const isColumn = columns.some((one) => fieldText(one) === name)
  const ifSeen = (act: () => void) => {
    if (place !== undefined && isSeen(place, value)) act()
    else tell('The event has another value of the same path: queries see that one', true)
  }
  const filter = (isExcluded: boolean) => ifSeen(() => filterBy(clause!, isExcluded))
  const same = field && jsonKind(value) !== 'null' ? sameClause(field, value) : undefined
  const filters: ValueAction[] = clause
    ? [
        {
          key: 'f',
          label: '+ include',
          title: 'Only events with this value (f)',
          run: () => filter(false),
        },
        {
          key: 'x',
          label: '− exclude',
          title: 'Only events without it (x)',
          run: () => filter(true),
        },
      ]
    : []
  // What is inside arrays is no column, and cannot be grouped by.
  const places: ValueAction[] =
    field === undefined || field.parts.length > 1
      ? []
      : [
          {
            key: 'g',
            label: 'group by',
            title: 'Count by this field (g)',
            run: () => setParams({ by: name }),
          },
          {
            key: 'c',
            label: 'column',
            title: isColumn ? 'Not as a column any more (c)' : 'As a column of its own (c)',
            isOn: isColumn,
            run: () => (isColumn ? setParams(withoutColumn(name!)) : addColumn(field)),
          },
        ]
  const everywhereElse: ValueAction[] =
    same === undefined || event === undefined
      ? []
      : [
          {
            key: 'a',
            label: 'everywhere ±5 min',
            title: 'This value in all streams, five minutes before and after the event (a)',
            run: () => ifSeen(() => go(everywhere(same, event))),
          },
        ]
  return [
    ...filters,
    ...everywhereElse,
    ...places,
    { key: 'y', label: 'copy', title: 'Copy the value (y)', run: () => copy(textOf(value)) },
  ]
}

function addColumn(field: EventField): void {
  const params = withColumns(ask.value.columns, [field])
  if (params === undefined) tell(`There is room for ${COLUMNS_MAX} columns`, true)
  else setParams(params)
}

/** What stands where beside it stays so. */
function withoutColumn(name: string) {
  const columns = columnsOf(ask.value.columns, route.value.params, false)
  return removed(
    columns,
    columns.findIndex((column) => columnName(column) === name),
  )
}

/** Beside a value while it is pointed at or has the focus. */
export function ValueMenu({ place, value }: { place: Place | undefined; value: JsonSpan }) {
  const opened = useContext(OpenedContext)
  return (
    <span class="value-menu">
      {actionsOf(place, value, opened?.event).map(({ key, label, title, isOn, run }) => (
        <button
          key={key}
          type="button"
          class="small"
          title={title}
          aria-pressed={isOn}
          onClick={run}
        >
          {label}
        </button>
      ))}
    </span>
  )
}

function textOf(value: JsonSpan): string {
  return jsonKind(value) === 'string' ? jsonString(value) : jsonText(value)
}
