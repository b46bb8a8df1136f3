import { useSignal } from '@preact/signals'
import { fieldListText, readFieldList } from '../base/field.ts'
import { setParams } from '../base/route.ts'
import { ask } from '../explore/ask.ts'
import { FieldInput } from '../parts/field-input.tsx'

const NOT_IN_ARRAYS = { isCounted: true }
const OWN = ['_level', '_service', '_shape']

/** One more column by its name: the header sizes, moves and removes those that there are. */
export function AddColumn() {
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
