import { bytesText } from './bytes-text.ts'
import { type ChosenStreams, chooseStreams } from './chosen-streams.ts'
import { RANGE_OPTIONS } from './clock.ts'
import { type Command, EXIT_OK, type Invocation } from './command.ts'
import { USAGE_BY, usageBy } from './usage-by.ts'
import { UsageError } from './usage-error.ts'

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

/** In a list of all. */
export interface Overview {
  readonly stream_id: string
  readonly events: number
  readonly raw_bytes: number
  readonly stored_bytes: { readonly raw: number; readonly projection: number }
  readonly oldest_event_at: string | null
  readonly newest_event_at: string | null
  readonly lag_seconds: number
  readonly refused: number
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
  summary:
    'Tell what streams hold and take on disk; of one stream also what it refused. ' +
    'Over time, by who sent it.',
  positionalsMax: 1,
  takesStream: true,
  options: { by: { type: 'string' }, ...RANGE_OPTIONS },
  help: {
    by: '`key`: what API keys sent; `service`: events; `refusal`: who was refused, and why',
    from: 'With --by: since when: -24h, 2026-01-31T12:00:00Z; 7 days ago, of refusals a day',
    to: 'With --by: until when; now',
  },
  choices: { by: USAGE_BY },
  run: async (invocation) => {
    const { client, terminal, values, positionals } = invocation
    const { by, from, to } = values
    if (by === undefined && (from ?? to) !== undefined) {
      throw new UsageError('--from and --to go with --by: what streams hold is told as of now')
    }
    const chosen = await chooseStreams(client, positionals[0] ?? '*')
    if (by !== undefined) return await usageBy(by, invocation, chosen)
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
  const all = await client.listAll<Overview>('usage', 'usage')
  for (const { id } of chosen.streams) {
    const told = all.find(({ stream_id: streamId }) => streamId === id)
    if (told === undefined) continue // Deleted meanwhile.
    const { raw, projection } = told.stored_bytes
    rows.push([
      chosen.nameOf(id),
      String(told.events),
      bytesText(told.raw_bytes),
      bytesText(raw),
      bytesText(projection),
      told.oldest_event_at ?? '-',
      told.newest_event_at ?? '-',
      String(told.refused),
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
