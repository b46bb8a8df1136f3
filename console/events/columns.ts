/**
 * The columns of the list beside time, level and stream, as the address says them. The service and
 * the line of the event are there without being asked for: the service first, the line last.
 *
 * In the address: `cols`, the fields in their order; `line`, how many of them stand before the
 * event's line, or `no`; `service=no`; `widths`, in pixels by name, the line's without a name.
 */
import {
  COLUMNS_MAX,
  type EventField,
  fieldListText,
  fieldText,
  systemField,
} from '../base/field.ts'
import { widthsOf, widthsText } from '../base/widths.ts'

export type Column =
  | { readonly kind: 'line' }
  | { readonly kind: 'field'; readonly field: EventField }

const HIDDEN = 'no'
const SERVICE: Column = { kind: 'field', field: systemField('_service') }
const LINE: Column = { kind: 'line' }
const WIDTH_MIN = 48
const WIDTH_MAX = 2_000
const STEP = 24

/** A column's name in widths and as a key. */
export function columnName(column: Column): string {
  return column.kind === 'line' ? '' : fieldText(column.field)
}

/** The name of its head: another one than that of the time. */
export function headName(column: Column): string {
  return `column ${columnName(column)}`
}

/** `hasService`: an event of the list has one. */
export function columnsOf(
  fields: readonly EventField[],
  params: URLSearchParams,
  hasService: boolean,
): readonly Column[] {
  const columns: Column[] = fields.map((field) => ({ kind: 'field', field }))
  const line = params.get('line')
  const at = line !== null && /^\d{1,3}$/.test(line) ? Number(line) : columns.length
  if (line !== HIDDEN) columns.splice(at, 0, LINE)
  const isNamed = columns.some((column) => isSame(column, SERVICE))
  const isShown = hasService && !isNamed && params.get('service') !== HIDDEN
  return isShown ? [SERVICE, ...columns] : columns
}

function isSame(one: Column, other: Column): boolean {
  return one.kind === other.kind && columnName(one) === columnName(other)
}

export type Params = Readonly<Record<string, string | undefined>>

/** What the address says of these; where the service stands first, that is not said. */
function paramsOf(columns: readonly Column[]): Params {
  const rest = isSame(columns[0] ?? LINE, SERVICE) ? columns.slice(1) : columns
  const fields = rest.flatMap((column) => (column.kind === 'field' ? [column.field] : []))
  const line = rest.findIndex(({ kind }) => kind === 'line')
  return {
    cols: fieldListText(fields),
    line: line < 0 ? HIDDEN : line === fields.length ? undefined : String(line),
  }
}

/** With these fields as well, where they are not; undefined where there is no room for them. */
export function withColumns(
  columns: readonly EventField[],
  more: readonly EventField[],
): Params | undefined {
  const all = new Map([...columns, ...more].map((field) => [fieldText(field), field]))
  return all.size > COLUMNS_MAX ? undefined : { cols: fieldListText([...all.values()]) }
}

/** With the column `by` places further to the right; undefined where it stands at the end. */
export function moved(columns: readonly Column[], from: number, by: number): Params | undefined {
  const to = Math.max(0, Math.min(columns.length - 1, from + by))
  if (to === from) return undefined
  return paramsOf(columns.toSpliced(from, 1).toSpliced(to, 0, columns[from]!))
}

export function removed(columns: readonly Column[], at: number): Params {
  const params = paramsOf(columns.toSpliced(at, 1))
  return isSame(columns[at]!, SERVICE) ? { ...params, service: HIDDEN } : params
}

/** The columns that are there without being asked for, and hidden. */
export function hiddenOf(params: URLSearchParams): readonly ('service' | 'line')[] {
  return (['service', 'line'] as const).filter((name) => params.get(name) === HIDDEN)
}

/** As the list is where nothing was chosen. */
export const NOTHING_CHOSEN: Params = {
  cols: undefined,
  line: undefined,
  service: undefined,
  widths: undefined,
}

/** In pixels; undefined where nobody has chosen it. */
export function widthOf(column: Column, params: URLSearchParams): number | undefined {
  const width = widthsOf(params.get('widths') ?? '').get(columnName(column))
  return width === undefined ? undefined : bounded(width)
}

export function bounded(width: number): number {
  return Math.round(Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, width)))
}

/** With the column this wide; undefined: as wide as where nobody has chosen. */
export function resized(
  column: Column,
  width: number | undefined,
  params: URLSearchParams,
): Params {
  const widths = new Map(widthsOf(params.get('widths') ?? ''))
  if (width === undefined) widths.delete(columnName(column))
  else widths.set(columnName(column), bounded(width))
  return { widths: widthsText(widths) }
}

export function widened(
  column: Column,
  width: number,
  by: -1 | 1,
  params: URLSearchParams,
): Params {
  return resized(column, width + by * STEP, params)
}
