import { type JsonSpan, jsonKind, jsonString, jsonText } from '../base/exact-json.ts'
import { setParams } from '../base/route.ts'
import { ask } from '../explore/ask.ts'
import { clauseFor, withClause } from '../explore/filters.ts'
import { copy } from '../parts/copy-button.tsx'

export interface ValueAction {
  readonly key: string
  readonly label: string
  readonly title: string
  readonly isOn?: boolean
  readonly run: () => void
}

/** What one can do with the value at `path`; those that it has no use for are left out. */
export function actionsOf(path: string, value: JsonSpan): readonly ValueAction[] {
  const { query, columns } = ask.value
  const clause = clauseFor(path, value)
  const isColumn = columns.includes(path)
  const next = isColumn ? columns.filter((one) => one !== path) : [...columns, path]
  const filters: ValueAction[] = clause
    ? [
        {
          key: 'f',
          label: '+ include',
          title: 'Only events with this value (f)',
          run: () => setParams({ q: withClause(query, clause, false) }),
        },
        {
          key: 'x',
          label: '− exclude',
          title: 'Only events without it (x)',
          run: () => setParams({ q: withClause(query, clause, true) }),
        },
      ]
    : []
  // What is inside arrays is no column, and cannot be grouped by.
  const places: ValueAction[] = path.includes('[]')
    ? []
    : [
        {
          key: 'g',
          label: 'group by',
          title: 'Count by this field (g)',
          run: () => setParams({ by: path }),
        },
        {
          key: 'c',
          label: 'column',
          title: isColumn ? 'Not as a column any more (c)' : 'As a column of its own (c)',
          isOn: isColumn,
          run: () => setParams({ cols: next.join(',') }),
        },
      ]
  return [
    ...filters,
    ...places,
    { key: 'y', label: 'copy', title: 'Copy the value (y)', run: () => copy(textOf(value)) },
  ]
}

/** Beside a value while it is pointed at or has the focus. */
export function ValueMenu({ path, value }: { path: string; value: JsonSpan }) {
  return (
    <span class="value-menu">
      {actionsOf(path, value).map(({ key, label, title, isOn, run }) => (
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
