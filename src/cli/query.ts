import { visibleString } from '../language/visible-text.ts'
import { splitNames } from '../model/field-path.ts'
import { type ChosenStreams, chooseStreams, STREAMS_USAGE } from './chosen-streams.ts'
import {
  CLOCK_CHOICES,
  CLOCK_HELP,
  CLOCK_OPTIONS,
  type Clock,
  RANGE_HELP,
  RANGE_OPTIONS,
  rangeOf,
  readClock,
} from './clock.ts'
import {
  type Command,
  EXIT_NOTHING,
  EXIT_OK,
  type Invocation,
  textOf,
  type Values,
} from './command.ts'
import { CSV_HELP, CSV_OPTIONS, csvHeading, csvRow, isCsv } from './events/csv.ts'
import { jsonOf } from './events/event-values.ts'
import {
  type JsonSpan,
  jsonElements,
  jsonKind,
  jsonObject,
  jsonString,
  jsonText,
  wholeJson,
} from './events/exact-json.ts'
import { tellWhyNothing } from './hints.ts'
import { UsageError } from './usage-error.ts'

/** Beside the figures that were asked for: whether a row counts anything at all. */
const COUNTED = '(events)'
const LATE_MS = 10_000

/** Prints counts and figures by group and time, as a table. */
export const query: Command = {
  usage: `${STREAMS_USAGE} [query] [options]`,
  summary: 'Count and measure events, by field and by time.',
  positionalsMax: 2,
  takesStream: true,
  options: {
    ...RANGE_OPTIONS,
    by: { type: 'string' },
    bucket: { type: 'string' },
    show: { type: 'string' },
    limit: { type: 'string', short: 'n' },
    ...CSV_OPTIONS,
    ...CLOCK_OPTIONS,
  },
  help: {
    ...RANGE_HELP,
    by: 'Fields to group by, with commas: service,http.status,_stream; odd names in backquotes',
    bucket: 'Also by time: 5m, 1h, or auto; with --by only where there are events',
    show: 'Figures, with commas: count,p99:took_ms,uniq:user.id; count',
    limit: 'How many groups, the largest first',
    ...CSV_HELP,
    ...CLOCK_HELP,
  },
  choices: CLOCK_CHOICES,
  run: async (invocation) => {
    const { client, terminal, values, positionals } = invocation
    if (values.json === true && isCsv(values)) {
      throw new UsageError('--json and --csv exclude each other')
    }
    const clock = readClock(values)
    const streams = await chooseStreams(client, positionals[0])
    const query = positionals[1] ?? ''
    const fields = splitNames(textOf(values.by) ?? '').filter((field) => field !== '')
    const figures = splitNames(textOf(values.show) ?? 'count').map(readFigure)
    const isSparse = fields.length > 0 && values.bucket !== undefined && values.json !== true
    const body = {
      query,
      ...streams.members,
      time_basis: clock.basis,
      ...rangeOf(values),
      group_by: [...fields, ...(values.bucket === undefined ? [] : [{ bucket: values.bucket }])],
      aggregates: isSparse ? [...figures, { fn: 'count', as: COUNTED }] : figures,
      ...(values.limit !== undefined && { limit: Number(values.limit) }),
    }
    const json = await client.text(streams.pathOf('query'), { body })
    terminal.note(`by ${clock.name} (UTC)`)
    const { rows, total } = printFigures(invocation, json, { clock, streams })
    const isForPeople = values.json !== true && !isCsv(values)
    if (total === '0' && isForPeople)
      await tellWhyNothing(invocation, { streams, clock, query, isCounted: true })
    return rows === 0 ? EXIT_NOTHING : EXIT_OK
  },
}

/** Prints an answer to a query: as it is, as CSV, or as a table. Tells what it does not cover. */
export function printFigures(
  { terminal, values }: Pick<Invocation, 'terminal' | 'values'>,
  json: string,
  shown: { readonly clock: Clock; readonly streams: ChosenStreams | undefined },
): { readonly rows: number; readonly total: string } {
  const answer = jsonObject(wholeJson(json))
  const rows = [...jsonElements(answer.get('rows')!)].map(jsonObject).filter(isCounted)
  if (values.json === true) terminal.json(json)
  else printRows({ terminal, values }, rows, shown)
  const member = (name: string) => jsonText(answer.get(name)!)
  if (member('complete') === 'false') terminal.note(`partial: ${member('reason')}`)
  const lagMs = Number(member('lag_ms'))
  if (lagMs > LATE_MS) terminal.note(`${Math.round(lagMs / 1_000)} s behind`)
  return { rows: rows.length, total: member('total') }
}

type Row = ReadonlyMap<string, JsonSpan>

/** Groups have a row for each bucket; most of them are empty. */
function isCounted(row: Row): boolean {
  const counted = row.get(COUNTED)
  return counted === undefined || jsonText(counted) !== '0'
}

function printRows(
  { terminal, values }: { readonly terminal: Invocation['terminal']; readonly values: Values },
  rows: readonly Row[],
  { clock, streams }: { readonly clock: Clock; readonly streams: ChosenStreams | undefined },
): void {
  // A row may have members that the first has not: what was left out of its figures.
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))].filter(
    (name) => name !== COUNTED,
  )
  const cells = rows.map((row) => {
    return names.map((name) => {
      const value = row.get(name)
      const isName = name === '_stream' && value !== undefined && jsonKind(value) === 'string'
      return isName ? jsonOf(streams?.nameOf(jsonString(value)) ?? jsonString(value)) : value
    })
  })
  const headings = names.map((name) => (name === '_bucket' ? clock.name : name))
  if (isCsv(values)) {
    const isSafe = values['csv-safe'] === true
    if (rows.length > 0) terminal.csv(csvHeading(names, isSafe))
    for (const row of cells) terminal.csv(csvRow(row, isSafe))
  } else if (rows.length > 0) {
    terminal.line(terminal.table([headings, ...cells.map((row) => row.map(cellText))]))
  }
}

function readFigure(text: string) {
  const colon = text.indexOf(':')
  return colon < 0 ? { fn: text } : { fn: text.slice(0, colon), field: text.slice(colon + 1) }
}

function cellText(value: JsonSpan | undefined): string {
  if (value === undefined || jsonKind(value) === 'null') return '-'
  return jsonKind(value) === 'string' ? visibleString(jsonString(value)) : jsonText(value)
}
