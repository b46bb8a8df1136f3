import { type JsonSpan, jsonKind, jsonString, jsonText } from '../base/exact-json.ts'
import { setParams } from '../base/route.ts'
import { copy } from '../parts/copy-button.tsx'
import { ask } from './ask.ts'
import { clauseFor, withClause } from './filters.ts'

/** What one can do with a value: filter by it, leave it out, make it a column, copy it. */
export function ValueMenu({ path, value }: { path: string; value: JsonSpan }) {
  const clause = clauseFor(path, value)
  const { query, columns } = ask.value
  const filter = (isExcluded: boolean) => {
    if (clause) setParams({ q: withClause(query, clause, isExcluded) })
  }
  const isColumn = columns.includes(path)
  const toggleColumn = () => {
    const next = isColumn ? columns.filter((one) => one !== path) : [...columns, path]
    setParams({ cols: next.join(',') })
  }
  const text = jsonKind(value) === 'string' ? jsonString(value) : jsonText(value)
  const isInArray = path.includes('[]')
  return (
    <span class="value-menu">
      <button
        type="button"
        class="small"
        title="Only events with this value"
        onClick={() => filter(false)}
      >
        + include
      </button>
      <button
        type="button"
        class="small"
        title="Only events without it"
        onClick={() => filter(true)}
      >
        − exclude
      </button>
      {!isInArray && (
        <button type="button" class="small" aria-pressed={isColumn} onClick={toggleColumn}>
          column
        </button>
      )}
      <button type="button" class="small" onClick={() => copy(text)}>
        copy
      </button>
    </span>
  )
}
