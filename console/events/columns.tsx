/** The columns of the list of events: what they are, one more, one less. */
import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { fieldListText, fieldText, readFieldList } from '../base/field.ts'
import { setParams } from '../base/route.ts'
import { isolated } from '../base/shown-value.ts'
import { ask } from '../explore/ask.ts'
import { FieldInput } from '../parts/field-input.tsx'

const NOT_IN_ARRAYS = { isCounted: true }

export function Columns() {
  const { columns, streamId } = ask.value
  const typed = useSignal('')
  const add = (text: string) => {
    typed.value = ''
    const more = readFieldList(text)
    if (more.length === 0) return
    setParams({ cols: fieldListText(readFieldList(fieldListText([...columns, ...more]))) })
  }
  return (
    <form
      class="inline columns"
      aria-label="Columns"
      onSubmit={(event) => {
        event.preventDefault()
        add(typed.value)
      }}
    >
      {columns.map((column) => {
        const name = fieldText(column)
        const others = columns.filter((one) => fieldText(one) !== name)
        return (
          <button
            key={name}
            type="button"
            class="small mono"
            aria-label={`Not as a column: ${isolated(visibleLine(name))}`}
            title={`${isolated(visibleLine(name))}: not as a column`}
            onClick={() => setParams({ cols: fieldListText(others) })}
          >
            <bdi>{visibleLine(name)}</bdi> ✕
          </button>
        )
      })}
      <FieldInput
        label="Another column"
        placeholder="+ column"
        streamId={streamId}
        kind={NOT_IN_ARRAYS}
        own={OWN}
        value={typed.value}
        onInput={(text) => {
          typed.value = text
        }}
        onTake={add}
      />
    </form>
  )
}

const OWN = ['_level', '_service', '_shape']
