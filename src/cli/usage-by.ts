/** Usage over time, by what makes it: `sluice usage <streams> --by key`. */
import { bytesText } from './bytes-text.ts'
import type { ChosenStreams } from './chosen-streams.ts'
import { ApiFailure } from './client.ts'
import { rangeOf } from './clock.ts'
import { EXIT_NOTHING, EXIT_OK, type Invocation } from './command.ts'
import { UsageError } from './usage-error.ts'

export const USAGE_BY = ['key', 'service', 'refusal'] as const

interface Steps {
  readonly from: string
  readonly to: string
  readonly bucket_ms: number
}

interface Counts {
  readonly requests: number
  readonly events: number | null
  readonly bytes: number
}

type Key = {
  readonly id: string
  readonly name: string | null
  readonly prefix: string | null
  readonly revoked_at: string | null
} | null

interface Sent extends Steps {
  readonly keys: readonly (Counts & { readonly key: Key })[]
  readonly over_time: readonly (Counts & {
    readonly _bucket: string
    readonly key_id: string | null
  })[]
}

interface Refused extends Steps {
  readonly refused: readonly (Counts & {
    readonly key: Key
    readonly reason: string
    readonly cause: string
    readonly last_at: string
  })[]
}

interface Grouped {
  readonly rows: readonly {
    readonly _service: string | null
    readonly _bucket: string
    readonly count: number
  }[]
  readonly complete: boolean
  readonly reason: string | null
}

const SERVICES_MAX = 50
const SERVICES_FROM = '-7d'

/** Prints a row for each of them, of each stream. Throws `UsageError`. */
export async function usageBy(
  by: string | boolean,
  invocation: Invocation,
  chosen: ChosenStreams,
): Promise<number> {
  const print = { key: byKey, service: byService, refusal: byRefusal }[String(by)]
  if (print === undefined) throw new UsageError(`--by takes ${USAGE_BY.join(', ')}`)
  const rows = await print(invocation, chosen)
  return rows === 0 ? EXIT_NOTHING : EXIT_OK
}

async function byKey(invocation: Invocation, chosen: ChosenStreams): Promise<number> {
  const heading = ['KEY', 'REQUESTS', 'EVENTS', 'SENT', 'SENT OVER TIME']
  const path = (id: string) => `streams/${id}/usage/keys`
  return await printEach<Sent>(invocation, chosen, { heading, path }, (answer) =>
    answer.keys.map(({ key, requests, events, bytes }) => {
      const own = answer.over_time.filter(({ key_id: id }) => id === (key?.id ?? null))
      const line = sparkline(stepsOf(answer, own, ({ bytes: sent }) => sent))
      return [keyText(key), String(requests), String(events), bytesText(bytes), line]
    }),
  )
}

async function byRefusal(invocation: Invocation, chosen: ChosenStreams): Promise<number> {
  const heading = ['KEY', 'REASON', 'CAUSE', 'REQUESTS', 'EVENTS', 'BYTES', 'LAST']
  const path = (id: string) => (id === '' ? 'refusals' : `streams/${id}/refusals`)
  return await printEach<Refused>(invocation, chosen, { heading, path, ofNone: true }, (answer) =>
    answer.refused.map(({ key, reason, cause, requests, events, bytes, last_at: last }) => {
      const counts = [String(requests), events === null ? '-' : String(events), bytesText(bytes)]
      return [keyText(key), reason, cause || '-', ...counts, last]
    }),
  )
}

interface Asked {
  readonly heading: readonly string[]
  readonly path: (streamId: string) => string
  /** Also of no stream (the id ''), where all are asked for and the token may know. */
  readonly ofNone?: boolean
}

/** A table with a row for each of an answer's, or the answers themselves. */
async function printEach<T extends object>(
  { client, terminal, values }: Invocation,
  chosen: ChosenStreams,
  { heading, path, ofNone = false }: Asked,
  rowsOf: (answer: T) => readonly string[][],
): Promise<number> {
  const isSeveral = chosen.isSeveral
  const isAll = isSeveral && chosen.members.streams === undefined
  const ids = [...chosen.streams.map(({ id }) => id), ...(ofNone && isAll ? [''] : [])]
  const rows: string[][] = []
  for (const id of ids) {
    const text = await client.text(path(id), { query: rangeOf(values) }).catch((cause) => {
      if (id === '' && cause instanceof ApiFailure && cause.status === 403) return undefined
      throw cause
    })
    if (text === undefined) continue
    if (values.json === true) terminal.json(text)
    const name = id === '' ? '-' : chosen.nameOf(id)
    for (const row of rowsOf(JSON.parse(text) as T)) rows.push(isSeveral ? [name, ...row] : row)
  }
  const headings = isSeveral ? ['STREAM', ...heading] : heading
  if (values.json !== true) terminal.line(terminal.table([headings, ...rows]))
  return rows.length
}

/** Counted among the events that are still held, by receipt. */
async function byService(invocation: Invocation, chosen: ChosenStreams): Promise<number> {
  const { client, terminal, values } = invocation
  const body = {
    ...{ from: SERVICES_FROM, ...rangeOf(values), time_basis: 'ingested_at', ...chosen.members },
    ...{ group_by: ['_service', { bucket: 'auto' }], limit: SERVICES_MAX },
  }
  const text = await client.text(chosen.pathOf('query'), { body })
  const { rows, complete, reason } = JSON.parse(text) as Grouped
  if (values.json === true) terminal.json(text)
  if (!complete) terminal.note(`partial: ${reason}`)
  const services = new Map<string, number[]>()
  for (const { _service: service, count } of rows) {
    const name = service ?? '(none)'
    services.set(name, [...(services.get(name) ?? []), count])
  }
  const told = [...services].map(([name, counts]) => {
    return [name, String(counts.reduce((sum, count) => sum + count, 0)), sparkline(counts)]
  })
  if (values.json !== true) {
    terminal.line(terminal.table([['SERVICE', 'EVENTS', 'OVER TIME'], ...told]))
  }
  return told.length
}

function keyText(key: Key): string {
  if (key === null) return '(none)'
  const name = key.name || key.prefix || key.id
  return key.revoked_at === null ? name : `${name} (revoked)`
}

/** A number for each step of the answer, 0 where there is nothing. */
function stepsOf<R extends { readonly _bucket: string }>(
  { from, to, bucket_ms: stepMs }: Steps,
  rows: readonly R[],
  of: (row: R) => number,
): number[] {
  const start = Date.parse(from)
  const steps = new Array<number>(Math.round((Date.parse(to) - start) / stepMs)).fill(0)
  for (const row of rows) steps[Math.floor((Date.parse(row._bucket) - start) / stepMs)]! += of(row)
  return steps
}

const BARS = '▁▂▃▄▅▆▇█'
const COLUMNS_MAX = 40

/** Bars for the numbers, neighbours together where there are many; nothing is a space. */
export function sparkline(numbers: readonly number[]): string {
  const width = Math.max(1, Math.ceil(numbers.length / COLUMNS_MAX))
  const sums = Array.from({ length: Math.ceil(numbers.length / width) }, (_, at) => {
    return numbers.slice(at * width, (at + 1) * width).reduce((sum, each) => sum + each, 0)
  })
  const most = Math.max(...sums)
  return sums
    .map((sum) => (sum > 0 ? BARS[Math.ceil((sum / most) * BARS.length) - 1] : ' '))
    .join('')
}
