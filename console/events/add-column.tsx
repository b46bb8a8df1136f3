import { useSignal } from '@preact/signals'
import { COLUMNS_MAX, readFieldList } from '../base/field.ts'
import { setParams } from '../base/route.ts'
import { ask } from '../explore/ask.ts'
import { FieldInput } from '../parts/field-input.tsx'
import { tell } from '../parts/notices.tsx'
import { withColumns } from './columns.ts'

const NOT_IN_ARRAYS = { isCounted: true }
const OWN = ['_level', '_service', '_shape']

/** One more column by its name: the header sizes, moves and removes those that there are. */
export function AddColumn() {
  const { columns, streamId } = ask.value
  const typed = useSignal('')
  const add = (text: string) => {
    const more = readFieldList(text)
    if (more.length === 0) return
    const params = withColumns(columns, more)
    if (params === undefined) return tell(`There is room for ${COLUMNS_MAX} columns`, true)
    typed.value = ''
    setParams(params)
  }
  return (
    <form
      class="columns"
      aria-label="Columns"
      onSubmit={(event) => {
        event.preventDefault()
        add(typed.value)
      }}
    >
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
