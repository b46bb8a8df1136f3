import { type ChosenStreams, chooseStreams } from './chosen-streams.ts'
import { type Command, EXIT_OK, type Invocation } from './command.ts'

export interface Usage {
  readonly events: number
  readonly segments: number
  readonly raw_bytes: number
  readonly stored_bytes: { readonly raw: number; readonly projection: number | null }
  readonly oldest_event_at: string | null
  readonly newest_event_at: string | null
  readonly projection: {
    readonly lag_seconds: number
    readonly set_aside: readonly Count[]
  }
  readonly refusals: readonly Count[]
  readonly rejected_events: readonly Count[]
  readonly schema_learning: string
  readonly schema: { readonly fields: Learning; readonly shapes: Learning }
}

interface Count {
  readonly reason: string
  readonly count: number
  readonly last_at: string
}

interface Learning {
  readonly count: number
  readonly soft_cap: number
  readonly hard_cap: number
}

/** What streams hold, cost, and refused. */
export const usage: Command = {
  usage: '[stream | a,b | *] [options]',
  summary: 'Tell what streams hold and take on disk; of one stream also what it refused.',
  positionalsMax: 1,
  takesStream: true,
  options: {},
  help: {},
  run: async (invocation) => {
    const { client, terminal, values, positionals } = invocation
    const chosen = await chooseStreams(client, positionals[0] ?? '*')
    if (values.json === true) {
      for (const { id } of chosen.streams) {
        terminal.json(await client.text(`streams/${id}/usage`))
      }
    } else if (chosen.isSeveral) {
      await printTable(invocation, chosen)
    } else {
      const [stream] = chosen.streams
      const told = await client.json<Usage>(`streams/${stream!.id}/usage`)
      terminal.line(terminal.table([['STREAM', stream!.name], ...linesOf(told)]))
    }
    return EXIT_OK
  },
}

async function printTable({ client, terminal }: Invocation, chosen: ChosenStreams): Promise<void> {
  const rows = [['STREAM', 'EVENTS', 'SENT', 'RAW', 'FOR READING', 'OLDEST', 'NEWEST', 'REFUSED']]
  for (const { id } of chosen.streams) {
    const told = await client.json<Usage>(`streams/${id}/usage`)
    const { raw, projection } = told.stored_bytes
    rows.push([
      chosen.nameOf(id),
      String(told.events),
      bytesText(told.raw_bytes),
      bytesText(raw),
      bytesText(projection),
      told.oldest_event_at ?? '-',
      told.newest_event_at ?? '-',
      String(told.refusals.reduce((sum, { count }) => sum + count, 0)),
    ])
  }
  terminal.line(terminal.table(rows))
}

function linesOf(told: Usage): string[][] {
  const { stored_bytes: stored, projection, schema } = told
  const learned = ({ count, soft_cap: soft, hard_cap: hard }: Learning) => {
    return `${count} (warning from ${soft}, at most ${hard})`
  }
  const counts = (what: string, all: readonly Count[]) => {
    return all.map(({ reason, count, last_at: last }) => [what, `${count} ${reason}, last ${last}`])
  }
  return [
    ['events', String(told.events)],
    ['bytes as sent', bytesText(told.raw_bytes)],
    ['on disk, raw', bytesText(stored.raw)],
    ['on disk, for reading', bytesText(stored.projection)],
    ['oldest received', told.oldest_event_at ?? '-'],
    ['newest received', told.newest_event_at ?? '-'],
    ['queries are behind', `${projection.lag_seconds.toFixed(1)} s`],
    ['fields', learned(schema.fields)],
    ['shapes', learned(schema.shapes)],
    ...counts('requests refused', told.refusals),
    ...counts('events rejected', told.rejected_events),
    ...counts('segments set aside', projection.set_aside),
  ]
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** Three digits and a unit. */
export function bytesText(bytes: number | null): string {
  if (bytes === null) return '-'
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2
  return `${value.toFixed(digits)} ${UNITS[unit]}`
}
