import { visibleText } from '../../language/visible-text.ts'
import { chooseStreams, STREAMS_USAGE } from '../chosen-streams.ts'
import {
  CLOCK_CHOICES,
  CLOCK_HELP,
  CLOCK_OPTIONS,
  RANGE_HELP,
  RANGE_OPTIONS,
  rangeOf,
  readClock,
  tryReadRange,
} from '../clock.ts'
import { type Command, EXIT_NOTHING, EXIT_OK, textOf } from '../command.ts'
import { tellWhyNothing } from '../hints.ts'
import { UsageError } from '../usage-error.ts'

const SORTS = ['count', 'new', 'growth']

interface PatternRow {
  readonly template: string | null
  readonly count: number
  readonly levels: Readonly<Record<string, number>>
  readonly pattern_ids: readonly string[]
  readonly is_new?: boolean
  readonly factor?: number | null
}

interface PatternsAnswer {
  readonly patterns: readonly PatternRow[]
  readonly events: number
  readonly without_pattern: number
  readonly others: { readonly patterns: number; readonly events: number }
}

/** Prints what kinds of messages there are, as a table. */
export const patterns: Command = {
  usage: `${STREAMS_USAGE} [query] [options]`,
  summary: 'What kinds of messages there are, how many of each, and which are new.',
  positionalsMax: 2,
  takesStream: true,
  options: {
    ...RANGE_OPTIONS,
    sort: { type: 'string', short: 's' },
    baseline: { type: 'string' },
    limit: { type: 'string', short: 'n' },
    ...CLOCK_OPTIONS,
  },
  help: {
    ...RANGE_HELP,
    sort: '`count`, `new` (what the baseline has none of), or `growth`; count',
    baseline: 'A range such as -2d..-1d; with new and growth the range before',
    limit: 'How many rows',
    ...CLOCK_HELP,
  },
  choices: { ...CLOCK_CHOICES, sort: SORTS },
  run: async (invocation) => {
    const { client, terminal, values, positionals } = invocation
    const clock = readClock(values)
    const streams = await chooseStreams(client, positionals[0])
    const query = positionals[1] ?? ''
    const baseline = readBaseline(textOf(values.baseline))
    const body = {
      query,
      ...streams.members,
      time_basis: clock.basis,
      ...rangeOf(values),
      ...(values.sort !== undefined && { sort: values.sort }),
      ...(baseline !== undefined && { baseline }),
      ...(values.limit !== undefined && { limit: Number(values.limit) }),
    }
    const json = await client.text(streams.pathOf('patterns'), { body })
    const answer = JSON.parse(json) as PatternsAnswer
    if (values.json === true) terminal.json(json)
    else {
      terminal.note(`by ${clock.name} (UTC)`)
      if (answer.patterns.length > 0) terminal.line(terminal.table(tableOf(answer.patterns)))
      const { others, without_pattern: without } = answer
      if (others.events > 0) terminal.note(`${others.events} events of ${others.patterns} others`)
      if (without > 0) terminal.note(`${without} events without a pattern`)
      if (answer.events === 0) {
        await tellWhyNothing(invocation, { streams, clock, query, isCounted: true })
      }
    }
    return answer.patterns.length === 0 ? EXIT_NOTHING : EXIT_OK
  },
}

function readBaseline(text: string | undefined) {
  if (text === undefined) return undefined
  const range = tryReadRange(text)
  if (range !== undefined) return range
  throw new UsageError('--baseline takes a range such as -2d..-1d')
}

function tableOf(rows: readonly PatternRow[]): string[][] {
  const isCompared = rows.some(({ is_new }) => is_new !== undefined)
  const heading = ['count', ...(isCompared ? ['change'] : []), 'level', 'pattern', 'template']
  return [
    heading,
    ...rows.map((row) => [
      String(row.count),
      ...(isCompared ? [changeOf(row)] : []),
      worstLevel(row.levels),
      idsText(row.pattern_ids),
      row.template === null ? '-' : visibleText(row.template),
    ]),
  ]
}

function changeOf({ is_new: isNew, factor }: PatternRow): string {
  return isNew === true ? 'new' : `x${factor ?? '-'}`
}

/** The most severe that there is: the last that the answer has. */
function worstLevel(levels: PatternRow['levels']): string {
  return Object.keys(levels).at(-1) ?? '-'
}

/** The first, and how many more: a query names them all. */
function idsText(ids: readonly string[]): string {
  const more = ids.length - 1
  return `${ids[0] ?? '-'}${more > 0 ? ` +${more}` : ''}`
}
