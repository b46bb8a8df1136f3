import type { Client } from './client.ts'
import { type Clock, clockOf, RANGE_HELP, RANGE_OPTIONS, rangeOf } from './clock.ts'
import { type Command, EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from './command.ts'
import { EventOutput, OUTPUT_HELP, OUTPUT_OPTIONS } from './events/event-output.ts'
import type { TimeBasis } from './events/event-values.ts'
import { jsonElements, jsonObject, jsonText, wholeJson } from './events/exact-json.ts'
import { printFigures } from './query.ts'
import { UsageError } from './usage-error.ts'

interface View {
  readonly id: string
  readonly name: string
  readonly query: string
  readonly time_basis: TimeBasis
  readonly range: { readonly last: string } | { readonly from: string; readonly to: string } | null
  readonly columns: readonly { readonly path: string }[]
  readonly order: 'newest' | 'oldest'
  readonly chart: object | null
  readonly shared: boolean
  readonly problem: string | null
}

interface Page {
  readonly views: readonly View[]
  readonly next: string | null
}

/** Lists the saved views of a stream, or runs one. */
export const views: Command = {
  usage: '<stream> | run <stream> <view> [options]',
  summary: "List a stream's saved views; run one: its events, or with --chart its figures.",
  positionalsMax: 3,
  takesStream: true,
  words: ['run'],
  options: {
    ...RANGE_OPTIONS,
    limit: { type: 'string', short: 'n' },
    chart: { type: 'boolean' },
    ...OUTPUT_OPTIONS,
  },
  help: {
    ...RANGE_HELP,
    from: "Since when, in place of the view's own range",
    limit: 'The most events or groups to print',
    chart: "The figures of the view's chart, in place of its events",
    ...OUTPUT_HELP,
  },
  run: async (invocation) => {
    const { client, positionals } = invocation
    const [first, second, third] = positionals
    if (first !== 'run') {
      if (second !== undefined) throw new UsageError('views <stream>, or views run <stream> <view>')
      return await list(invocation, await client.findStream(first))
    }
    if (third === undefined) throw new UsageError('views run <stream> <view>: its name or its id')
    const streamId = await client.findStream(second)
    const view = pick(await listViews(client, streamId), third)
    const path = `streams/${streamId}/views/${view.id}`
    return invocation.values.chart === true
      ? await runChart(invocation, path, view)
      : await runSearch(invocation, path, view)
  },
}

async function listViews(client: Client, streamId: string): Promise<readonly View[]> {
  const all: View[] = []
  let after: string | undefined
  do {
    const page: Page = await client.json(`streams/${streamId}/views`, { query: { after } })
    all.push(...page.views)
    after = page.next ?? undefined
  } while (after !== undefined)
  return all
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
