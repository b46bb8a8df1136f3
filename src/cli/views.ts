import type { Client } from './client.ts'
import { type Clock, clockOf, RANGE_HELP, RANGE_OPTIONS, rangeOf } from './clock.ts'
import { type Command, EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from './command.ts'
import { changeView, EDIT_HELP, EDIT_OPTIONS, type EditedView, editsOf } from './edit-view.ts'
import { EventOutput, OUTPUT_HELP, OUTPUT_OPTIONS } from './events/event-output.ts'
import type { TimeBasis } from './events/event-values.ts'
import { jsonElements, jsonObject, jsonText, wholeJson } from './events/exact-json.ts'
import { printFigures } from './query.ts'
import { UsageError } from './usage-error.ts'

interface View extends EditedView {
  readonly id: string
  readonly name: string
  readonly query: string
  readonly time_basis: TimeBasis
  readonly range: { readonly last: string } | { readonly from: string; readonly to: string } | null
  readonly order: 'newest' | 'oldest'
  readonly chart: object | null
  readonly shared: boolean
  readonly problem: string | null
}

/** Lists the saved views of a stream, runs one, or changes it. */
export const views: Command = {
  usage: '<stream> | run|edit <stream> <view> | rename <stream> <view> <name> [options]',
  summary:
    "List a stream's saved views; run one: its events, or with --chart its figures; change one.",
  positionalsMax: 4,
  takesStream: true,
  words: ['run', 'edit', 'rename'],
  options: {
    ...EDIT_OPTIONS,
    ...RANGE_OPTIONS,
    limit: { type: 'string', short: 'n' },
    chart: { type: 'boolean' },
    ...OUTPUT_OPTIONS,
  },
  help: {
    ...EDIT_HELP,
    ...RANGE_HELP,
    from: "Since when, in place of the view's own range",
    limit: 'The most events or groups to print',
    chart: "The figures of the view's chart, in place of its events",
    ...OUTPUT_HELP,
  },
  choices: { shared: ['yes', 'no'] },
  run: async (invocation) => {
    const { client, positionals } = invocation
    const [first, second, third, fourth] = positionals
    const isOfOne = first === 'run' || first === 'edit' || first === 'rename'
    if (!isOfOne) {
      if (second === undefined) return await list(invocation, await client.findStream(first))
      throw new UsageError('views <stream>, or views run, edit or rename <stream> <view>')
    }
    if (third === undefined || (fourth !== undefined) !== (first === 'rename')) {
      const name = first === 'rename' ? ' <name>' : ''
      throw new UsageError(`views ${first} <stream> <view>${name}: the view by its name or its id`)
    }
    const streamId = await client.findStream(second)
    const view = pick(await listViews(client, streamId), third)
    const path = `streams/${streamId}/views/${view.id}`
    if (first === 'rename') return await changeView(invocation, path, view, { name: fourth! })
    if (first === 'edit') return await changeView(invocation, path, view, editsOf(invocation, view))
    return invocation.values.chart === true
      ? await runChart(invocation, path, view)
      : await runSearch(invocation, path, view)
  },
}

async function listViews(client: Client, streamId: string): Promise<readonly View[]> {
  return await client.listAll<View>(`streams/${streamId}/views`, 'views')
}

function pick(all: readonly View[], name: string): View {
  const found = all.find((view) => view.name === name) ?? all.find(({ id }) => id === name)
  if (found !== undefined) return found
  const known = all.slice(0, 10).map((view) => view.name)
  throw new UsageError(`there is no view ${name}; there are ${known.join(', ') || 'none'}`)
}

async function list({ client, terminal, values }: Invocation, streamId: string): Promise<number> {
  const all = await listViews(client, streamId)
  if (values.json === true) {
    for (const view of all) terminal.json(JSON.stringify(view))
    return EXIT_OK
  }
  const rows = all.map((view) => {
    const { id, name, query, chart, shared, problem } = view
    const shown = problem === null ? query || '*' : `cannot be run: ${problem}`
    return [id, name, rangeText(view), chart ? 'yes' : '-', shared ? 'all' : 'its maker', shown]
  })
  terminal.line(terminal.table([['ID', 'NAME', 'RANGE', 'CHART', 'SEEN BY', 'QUERY'], ...rows]))
  return EXIT_OK
}

function rangeText({ range }: View): string {
  if (range === null) return '-'
  return 'last' in range ? `last ${range.last}` : `${range.from} to ${range.to}`
}

function bodyOf({ values }: Invocation) {
  const limit = textOf(values.limit)
  return { ...rangeOf(values), ...(limit !== undefined && { limit: Number(limit) }) }
}

async function runChart(invocation: Invocation, path: string, view: View): Promise<number> {
  if (view.chart === null) throw new UsageError(`the view ${view.name} has no chart`)
  const json = await invocation.client.text(`${path}/query`, { body: bodyOf(invocation) })
  const clock = say(invocation, view)
  const { rows } = printFigures(invocation, json, { clock, streams: undefined })
  return rows === 0 ? EXIT_NOTHING : EXIT_OK
}

/** A page of events, the newest at the end, as a search prints them. */
async function runSearch(invocation: Invocation, path: string, view: View): Promise<number> {
  const { client, terminal, values } = invocation
  const clock = clockOf(view.time_basis)
  const names = view.columns.map(({ path: name }) => name)
  const output = new EventOutput({
    ...{ terminal, values, clock, nameOf: undefined, hasContext: false },
    columns: names.length === 0 ? undefined : [`_${clock.basis}`, ...names],
  })
  const answer = await client.text(`${path}/search`, { body: bodyOf(invocation) })
  say(invocation, view)
  const members = jsonObject(wholeJson(answer))
  const texts = [...jsonElements(members.get('events')!)].map(jsonText)
  const shown = view.order === 'newest' ? texts.toReversed() : texts
  output.printAll(shown.map((text) => ({ text, isMatch: true })))
  output.begin()
  const reason = JSON.parse(jsonText(members.get('reason')!)) as string | null
  if (reason !== null) terminal.note(`not all: ${reason}`)
  if (jsonText(members.get('next')!) !== 'null') terminal.note('there are more: -n shows them')
  if (texts.length === 0) terminal.note('no event matches')
  return texts.length === 0 ? EXIT_NOTHING : EXIT_OK
}

function say({ terminal }: Invocation, { time_basis: basis }: View): Clock {
  const clock = clockOf(basis)
  terminal.note(`by ${clock.name} (UTC)`)
  return clock
}
