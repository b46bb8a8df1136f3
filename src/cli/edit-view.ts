/** Changes of a saved view, made only while it is as it was read. */
import { splitNames } from '../model/field-path.ts'
import { EXIT_OK, type Invocation, textOf } from './command.ts'
import { UsageError } from './usage-error.ts'

export interface EditedView {
  readonly name: string
  readonly version: number
  readonly columns: readonly { readonly path: string; readonly width?: number }[]
}

export const EDIT_OPTIONS = {
  name: { type: 'string' },
  description: { type: 'string' },
  query: { type: 'string' },
  columns: { type: 'string' },
  shared: { type: 'string' },
} as const
export const EDIT_HELP = {
  name: 'With edit: another name',
  description: 'With edit: what it is for',
  query: 'With edit: another query; the columns and the rest stay',
  columns: 'With edit: fields to show, with commas; widths of those that stay are kept',
  shared: 'With edit: `yes`, seen by all who see the stream, or `no`, by its maker',
} as const

/** What the options say of the view. Throws `UsageError`. */
export function editsOf(
  { values }: Invocation,
  view: EditedView,
): Readonly<Record<string, unknown>> {
  const [columns, shared] = [textOf(values.columns), textOf(values.shared)]
  if (shared !== undefined && shared !== 'yes' && shared !== 'no') {
    throw new UsageError('--shared takes yes or no')
  }
  const texts = ['name', 'description', 'query'].flatMap((option) => {
    const text = textOf(values[option])
    return text === undefined ? [] : [[option, text] as const]
  })
  const edits = {
    ...Object.fromEntries(texts),
    ...(columns !== undefined && { columns: columnsOf(columns, view) }),
    ...(shared !== undefined && { shared: shared === 'yes' }),
  }
  if (Object.keys(edits).length > 0) return edits
  const options = Object.keys(EDIT_OPTIONS).map((option) => `--${option}`)
  throw new UsageError(`say what changes: ${options.join(', ')}`)
}

function columnsOf(text: string, { columns }: EditedView) {
  const paths = splitNames(text).filter((path) => path !== '')
  return paths.map((path) => columns.find((column) => column.path === path) ?? { path })
}

/** The service refuses it when somebody else has changed the view since it was read. */
export async function changeView(
  { client, terminal, values }: Invocation,
  path: string,
  view: EditedView,
  edits: Readonly<Record<string, unknown>>,
): Promise<number> {
  const headers = { 'If-Match': `"${view.version}"` }
  const text = await client.text(path, { method: 'PATCH', headers, body: edits })
  if (values.json === true) terminal.json(text)
  else terminal.note(`${(JSON.parse(text) as EditedView).name} is saved`)
  return EXIT_OK
}
