import { visibleString } from '../language/visible-text.ts'
import { splitNames } from '../model/field-path.ts'
import { readWhole } from './client.ts'
import { CLOCK_HELP, CLOCK_OPTIONS, type Clock, readClock } from './clock.ts'
import { type Command, EXIT_NOTHING, EXIT_OK, textOf } from './command.ts'

interface QueryAnswer {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly others: readonly Readonly<Record<string, unknown>>[]
  readonly complete: boolean
  readonly reason: string | null
  readonly lag_ms: number
}

const LATE_MS = 10_000

/** Prints counts and figures by group and time, as a table. */
export const query: Command = {
  usage: '<stream | *> [query] [options]',
  summary: 'Count and measure events, by field and by time.',
  positionalsMax: 2,
  options: {
    from: { type: 'string', short: 'f' },
    to: { type: 'string', short: 't' },
    by: { type: 'string' },
    bucket: { type: 'string' },
    show: { type: 'string' },
    limit: { type: 'string', short: 'n' },
    ...CLOCK_OPTIONS,
  },
  help: {
    from: 'Since when: -15m, -7d, 2026-01-31T12:00:00Z; an hour ago',
    to: 'Until when; now',
    by: 'Fields to group by, with commas: service,http.status; odd names in backquotes',
    bucket: 'Also by time: 5m, 1h, or auto',
    show: 'Figures, with commas: count,p99:took_ms,uniq:user.id; count',
    limit: 'How many groups, the largest first',
    ...CLOCK_HELP,
  },
  run: async ({ client, terminal, values, positionals }) => {
    const [name, text = ''] = positionals
    const path = name === '*' ? 'query' : `streams/${await client.findStream(name)}/query`
    const clock = readClock(values)
    const fields = splitNames(textOf(values.by) ?? '').filter((field) => field !== '')
    const body = {
      query: text,
      time_basis: clock.basis,
      ...(values.from !== undefined && { from: values.from }),
      ...(values.to !== undefined && { to: values.to }),
      group_by: [...fields, ...(values.bucket === undefined ? [] : [{ bucket: values.bucket }])],
      aggregates: splitNames(textOf(values.show) ?? 'count').map(readFigure),
      ...(values.limit !== undefined && { limit: Number(values.limit) }),
    }
    const response = await client.call(path, { body })
    const json = await readWhole(response)
    const answer = JSON.parse(json) as QueryAnswer
    terminal.note(`by ${clock.name} (UTC)`)
    if (values.json === true) terminal.json(json)
    else terminal.line(terminal.table(tableOf(answer, clock)))
    if (!answer.complete) terminal.note(`partial: ${answer.reason}`)
    if (answer.lag_ms > LATE_MS) terminal.note(`${Math.round(answer.lag_ms / 1_000)} s behind`)
    return answer.rows.length === 0 ? EXIT_NOTHING : EXIT_OK
  },
}

function readFigure(text: string) {
  const colon = text.indexOf(':')
  return colon < 0 ? { fn: text } : { fn: text.slice(0, colon), field: text.slice(colon + 1) }
}

function tableOf({ rows }: QueryAnswer, clock: Clock): string[][] {
  const names = Object.keys(rows[0] ?? {})
  const cells = rows.map((row) => names.map((name) => cellText(row[name])))
  return [names.map((name) => (name === '_bucket' ? clock.name : name)), ...cells]
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return typeof value === 'string' ? visibleString(value) : JSON.stringify(value)
}
