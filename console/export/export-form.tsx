/** Which format, which fields, and for whom. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { visibleLine } from '../../src/language/visible-text.ts'
import { fieldListText, readFieldList } from '../base/field.ts'
import { formatBytes, formatOf } from '../base/format.ts'
import { type Loaded, useLoaded } from '../base/loaded.ts'
import type { Ask } from '../explore/ask.ts'
import { FieldInput } from '../parts/field-input.tsx'
import { CheckField } from '../parts/form.tsx'
import { columnFields, type ExportFields } from './export-fields.ts'
import { BLOB_BYTES_MAX, hasPicker } from './export-file.ts'
import type { ExportKind } from './export-records.ts'
import { loadFields } from './load-fields.ts'
import type { ExportWish } from './run-export.ts'

export interface FormState extends Choice {
  readonly columns: ExportFields
  /** Of those that were named. */
  readonly named: ExportFields
  /** For CSV of all fields: those of the stream. */
  readonly all: Loaded<ExportFields | undefined>
  /** Undefined while it cannot be asked for. */
  readonly wish: ExportWish | undefined
  readonly change: (change: Partial<Choice>) => void
}

interface Choice {
  readonly kind: ExportKind
  readonly fields: 'shown' | 'named' | 'all'
  /** Which ones, with commas between them. */
  readonly names: string
  readonly isSafe: boolean
}

export function useFormState(ask: Ask): FormState {
  const columns = columnFields(ask.columns)
  const hasColumns = columns.fields.length > 0
  // Several streams have no list of fields that CSV could have as columns.
  const kind = hasColumns || ask.streamId !== undefined ? 'csv' : 'lines'
  const choice = useSignal<Choice>({
    kind,
    fields: hasColumns ? 'shown' : 'all',
    names: fieldListText(ask.columns),
    isSafe: true,
  })
  const { value: chosen } = choice
  const { streamId } = ask
  const isAll = chosen.fields === 'all'
  const isNeeded = chosen.kind === 'csv' && isAll && streamId !== undefined
  const all = useLoaded<ExportFields | undefined>(String(isNeeded), async (signal) => {
    return isNeeded ? await loadFields(streamId, signal) : undefined
  })
  const named = columnFields(readFieldList(chosen.names))
  const listed = chosen.fields === 'named' ? named : columns
  const known = isAll ? (all.isStale ? undefined : all.value) : listed
  const fields = isAll && chosen.kind === 'lines' ? undefined : known?.fields
  const isReady = isAll && chosen.kind === 'lines' ? true : (fields?.length ?? 0) > 0
  return {
    ...chosen,
    columns,
    named,
    all,
    wish: isReady ? { ask, kind: chosen.kind, fields, isSafe: chosen.isSafe } : undefined,
    change: (change) => {
      choice.value = { ...choice.value, ...change }
    },
  }
}

interface FormProps {
  readonly ask: Ask
  readonly form: FormState
  readonly onSubmit: (event: Event) => void
  readonly onCancel: () => void
  readonly children: ComponentChildren
}

export function ExportForm({ ask, form, onSubmit, onCancel, children }: FormProps) {
  const { kind, isSafe, wish, change } = form
  return (
    <form onSubmit={onSubmit}>
      <fieldset class="choice">
        <legend>Format</legend>
        <Option
          name="export-format"
          label="CSV"
          hint="a row an event, a column a field"
          isChosen={kind === 'csv'}
          onChoose={() => change({ kind: 'csv' })}
        />
        <Option
          name="export-format"
          label="NDJSON"
          hint="a line of JSON an event, values exactly as they were sent"
          isChosen={kind === 'lines'}
          onChoose={() => change({ kind: 'lines' })}
        />
      </fieldset>
      <FieldChoice ask={ask} form={form} />
      {kind === 'csv' && (
        <CheckField
          label="Safe for spreadsheets"
          hint={SAFE_HINT}
          checked={isSafe}
          onChange={(checked) => change({ isSafe: checked })}
        />
      )}
      <p class="hint">
        The {ask.order} events come first, times are in UTC.{' '}
        {hasPicker() ? 'You choose the file next.' : BLOB_HINT}
      </p>
      {children}
      <div class="buttons">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={wish === undefined}>
          Export
        </button>
      </div>
    </form>
  )
}

const SAFE_HINT =
  "Text that a spreadsheet would run as a formula gets a ' before it; " +
  'UTF-8 is marked. Without it: exact, for programs.'
const BLOB_HINT =
  'This browser saves the file when all is there: ' +
  `at most ${formatBytes(BLOB_BYTES_MAX)}, which is told if there is more.`

function FieldChoice({ ask, form }: { ask: Ask; form: FormState }) {
  const { fields, columns, named, names, change } = form
  const none = ask.columns.length === 0 ? 'none is chosen' : 'none of them is a field of events'
  return (
    <fieldset class="choice">
      <legend>Fields</legend>
      <Option
        name="export-fields"
        label="The columns shown"
        hint={columns.fields.length === 0 ? none : columnsHint(columns)}
        isChosen={fields === 'shown'}
        isDisabled={columns.fields.length === 0}
        onChoose={() => change({ fields: 'shown' })}
      />
      <Option
        name="export-fields"
        label="These fields"
        hint={fields === 'named' && named.left.length > 0 ? columnsHint(named) : 'by their names'}
        isChosen={fields === 'named'}
        onChoose={() => change({ fields: 'named' })}
      />
      {fields === 'named' && (
        <FieldInput
          label="Fields to export"
          placeholder="paths, with commas"
          streamId={ask.streamId}
          kind={COLUMNS}
          isList
          value={names}
          onInput={(text) => change({ names: text })}
        />
      )}
      <Option
        name="export-fields"
        label="All fields"
        hint={allHint(ask, form)}
        isChosen={fields === 'all'}
        onChoose={() => change({ fields: 'all' })}
      />
    </fieldset>
  )
}

const NAMED_MAX = 5
const COLUMNS = { isCounted: true }

function columnsHint({ fields, left }: ExportFields): string {
  const without = left.length === 0 ? '' : `; without ${namesOf(left)}`
  return `${namesOf(fields)}${without}`
}

function namesOf(names: readonly string[]): string {
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
  return visibleLine(names.slice(0, NAMED_MAX).join(', ')) + more
}

function allHint({ streamId }: Ask, { kind, fields: chosen, all }: FormState): string {
  if (kind === 'lines') return 'whole events'
  if (streamId === undefined) return 'CSV has them of one stream only: choose one, or NDJSON'
  if (chosen !== 'all') return 'of the stream'
  if (all.failure !== undefined) return `not known: ${all.failure}`
  if (all.value === undefined) return 'looking…'
  const { fields, left } = all.value
  if (fields.length === 0) return 'none is known yet'
  if (left.length === 0) return formatOf(fields.length, 'column')
  return `the ${fields.length} of ${fields.length + left.length} that were seen last; NDJSON has all`
}

interface OptionProps {
  /** Of the group, whose options the arrow keys go through. */
  readonly name: string
  readonly label: string
  readonly hint: string
  readonly isChosen: boolean
  readonly isDisabled?: boolean
  readonly onChoose: () => void
}

/** One of several; those of a fieldset are one group by its legend. */
function Option({ name, label, hint, isChosen, isDisabled, onChoose }: OptionProps) {
  const id = useId()
  return (
    <div class="field is-check">
      <input
        type="radio"
        id={id}
        name={name}
        checked={isChosen}
        disabled={isDisabled === true}
        aria-describedby={`${id}-hint`}
        onChange={onChoose}
      />
      <div>
        <label for={id}>{label}</label>
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      </div>
    </div>
  )
}
