import { visibleText } from '../../language/visible-text.ts'
import { splitNames } from '../../model/field-path.ts'
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
import { type Command, EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from '../command.ts'
import {
  type JsonSpan,
  jsonElements,
  jsonObject,
  jsonString,
  jsonText,
  wholeJson,
} from '../events/exact-json.ts'
import { UsageError } from '../usage-error.ts'

const LATE_MS = 10_000
const BASELINES = ['before', 'yesterday'] as const

/** Prints what is different from before: a line for each finding, and its query. */
export const compare: Command = {
  usage: `${STREAMS_USAGE} [query] [options]`,
  summary: 'What is different from before: values, fields and numbers that changed.',
  positionalsMax: 2,
  takesStream: true,
  options: {
    ...RANGE_OPTIONS,
    baseline: { type: 'string' },
    'baseline-query': { type: 'string' },
    fields: { type: 'string' },
    limit: { type: 'string', short: 'n' },
    ...CLOCK_OPTIONS,
  },
  help: {
    ...RANGE_HELP,
    baseline: 'before, yesterday, or a range such as -2d..-1d; before',
    'baseline-query': 'Other events of the range to compare with: version:1.2',
    fields: 'Only these, with commas: _level,http.route; those that tell most',
    limit: 'How many findings, the clearest first',
    ...CLOCK_HELP,
  },
  choices: { ...CLOCK_CHOICES, baseline: BASELINES },
  run: async (invocation) => {
    const { client, terminal, values, positionals } = invocation
    const clock = readClock(values)
    const streams = await chooseStreams(client, positionals[0])
    const fields = splitNames(textOf(values.fields) ?? '').filter((field) => field !== '')
    const body = {
      query: positionals[1] ?? '',
      ...streams.members,
      time_basis: clock.basis,
      window: rangeOf(values),
      baseline: baselineOf(values),
      ...(fields.length > 0 && { fields }),
      ...(values.limit !== undefined && { limit: Number(values.limit) }),
    }
    const json = await client.text(streams.pathOf('compare'), { body })
    const answer = jsonObject(wholeJson(json))
    const findings = [...jsonElements(answer.get('findings')!)].map(jsonObject)
    if (values.json === true) terminal.json(json)
    else printFindings(invocation, findings)
    printNotes(invocation, answer)
    return findings.length === 0 ? EXIT_NOTHING : EXIT_OK
  },
}

function baselineOf(values: Invocation['values']) {
  const [text, query] = [textOf(values.baseline), textOf(values['baseline-query'])]
  const range = text === undefined ? undefined : tryReadRange(text)
  if (range !== undefined) return { ...range, ...(query !== undefined && { query }) }
  if (text !== undefined && !BASELINES.some((name) => name === text)) {
    throw new UsageError('--baseline takes before, yesterday, or a range such as -2d..-1d')
  }
  if (query === undefined) return text ?? 'before'
  if (text === undefined) return { query }
  throw new UsageError('--baseline-query is of the same range, or of one such as -2d..-1d')
}

type Members = ReadonlyMap<string, JsonSpan>

function printFindings({ terminal }: Invocation, findings: readonly Members[]): void {
  for (const finding of findings) {
    terminal.line(visibleText(jsonString(finding.get('text')!)))
    const also = [...jsonElements(finding.get('also')!)].map(jsonString)
    terminal.line(`  ${visibleText(jsonString(finding.get('query')!))}`)
    if (also.length > 0) terminal.line(`  because of it: ${visibleText(also.join(', '))}`)
  }
}

function printNotes({ terminal, values }: Invocation, answer: Members): void {
  if (values.json === true) return
  const of = (name: string) => jsonObject(answer.get(name)!)
  const text = (members: Members, name: string) => jsonText(members.get(name)!)
  terminal.note(jsonString(of('whole').get('text')!))
  const fields = [...jsonElements(of('looked_at').get('fields')!)].length
  const looked = `${text(of('looked_at'), 'events')} events, ${fields} fields`
  terminal.note(`looked at ${looked}; ${text(of('left_out'), 'fields')} fields left out`)
  if (text(answer, 'complete') === 'false') terminal.note(`partial: ${text(answer, 'reason')}`)
  const lagMs = Number(text(answer, 'lag_ms'))
  if (lagMs > LATE_MS) terminal.note(`${Math.round(lagMs / 1_000)} s behind`)
}
