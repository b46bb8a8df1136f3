import { visibleLine } from '../language/visible-text.ts'
import { mayBeInArray } from '../model/field-path.ts'
import { ApiFailure, type Client } from './client.ts'
import {
  CLOCK_CHOICES,
  CLOCK_HELP,
  CLOCK_OPTIONS,
  RANGE_HELP,
  RANGE_OPTIONS,
  rangeOf,
  readClock,
} from './clock.ts'
import { type Command, EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from './command.ts'
import { inBackquotes } from './events/event-values.ts'
import {
  type JsonSpan,
  jsonAt,
  jsonElements,
  jsonObject,
  jsonText,
  wholeJson,
} from './events/exact-json.ts'
import { UsageError } from './usage-error.ts'

interface Field {
  readonly path: string
  readonly types: readonly string[]
  readonly conflict: boolean
  readonly last_seen_at: string
}

/** A field, and its text as the API gives it: samples keep their digits. */
interface Learned {
  readonly field: Field
  readonly text: string
}

const TYPES = ['null', 'boolean', 'integer', 'float', 'string', 'array', 'object'] as const
const PAGE_FIELDS = '10000'
/** Shares are counted for so many fields. */
const SHARES_MAX = 190
/** With the count of all events the most figures of one query. */
const SHARES_A_QUERY = 19
const SAMPLE_CHARS_MAX = 60

/** Lists the fields that a stream's events have. */
export const schema: Command = {
  usage: '<stream> [part of a path] [options]',
  summary: "List a stream's fields: their types, how many events have them, samples.",
  positionalsMax: 2,
  takesStream: true,
  options: {
    type: { type: 'string' },
    conflict: { type: 'boolean' },
    ...RANGE_OPTIONS,
    ...CLOCK_OPTIONS,
  },
  help: {
    type: `Only fields of this type: ${TYPES.join(', ')}`,
    conflict: 'Only fields whose types conflict',
    ...RANGE_HELP,
    from: `Shares are of the events since then, of the first ${SHARES_MAX} fields; a day ago`,
    ...CLOCK_HELP,
  },
  choices: { ...CLOCK_CHOICES, type: TYPES },
  run: async (invocation) => {
    const { client, terminal, values, positionals } = invocation
    const [name, part = ''] = positionals
    const type = textOf(values.type)
    if (type !== undefined && !TYPES.some((known) => known === type)) {
      throw new UsageError(`--type takes one of ${TYPES.join(', ')}`)
    }
    const streamId = await client.findStream(name)
    const fields = await listFields(client, streamId, {
      type,
      conflict: values.conflict === true ? 'true' : undefined,
      contains: part === '' ? undefined : part,
    })
    const shares = await tryCountShares(invocation, streamId, fields)
    if (values.json === true) {
      for (const [index, { text }] of fields.entries()) {
        terminal.json(withShare(text, shares[index] ?? null))
      }
    } else if (fields.length > 0) {
      const rows = fields.map((one, index) => rowOf(one, shares[index]))
      terminal.line(terminal.table([['FIELD', 'TYPES', 'SHARE', 'LAST SEEN', 'SAMPLES'], ...rows]))
    }
    if (fields.length > 0) return EXIT_OK
    terminal.note(await whyNone(client, streamId, part))
    return EXIT_NOTHING
  },
}

/** In words; with the names that are near. */
async function whyNone(client: Client, streamId: string, part: string): Promise<string> {
  const query = { streams: streamId, contains: part, objects: 'true' }
  const { total, nearest } = await client.json<{
    readonly total: number
    readonly nearest: readonly { readonly path: string }[]
  }>('fields', { query })
  if (total > 0) return 'none of the fields is like that'
  if (part === '') return 'no field was learned yet'
  const near = nearest.map(({ path }) => path).join(', ')
  return `no event of this stream has ${part}${near === '' ? '' : `; nearest: ${near}`}`
}

/** Of the range in place of the stream's; everything else as it is, every digit kept. */
function withShare(text: string, share: number | null): string {
  const members = [...jsonObject(wholeJson(text))].flatMap(([name, value]) => {
    return name === 'share' ? [] : [`${JSON.stringify(name)}:${jsonText(value)}`]
  })
  return `{${[...members, `"share":${share}`].join(',')}}`
}

async function listFields(
  client: Client,
  streamId: string,
  query: Readonly<Record<string, string | undefined>>,
): Promise<readonly Learned[]> {
  const fields: Learned[] = []
  let after: string | undefined
  do {
    const asked = { ...query, limit: PAGE_FIELDS, after }
    const answer = await client.text(`streams/${streamId}/fields`, { query: asked })
    const page = jsonObject(wholeJson(answer))
    for (const element of jsonElements(page.get('fields')!)) {
      const text = jsonText(element)
      fields.push({ text, field: JSON.parse(text) as Field })
    }
    after = (JSON.parse(jsonText(page.get('next')!)) as string | null) ?? undefined
  } while (after !== undefined)
  return fields
}

/** By the fields' order, from 0 to 1; undefined where it is not known. */
async function tryCountShares(
  invocation: Invocation,
  streamId: string,
  fields: readonly Learned[],
): Promise<readonly (number | undefined)[]> {
  const { terminal } = invocation
  const shares: (number | undefined)[] = []
  // Neither objects nor what is in arrays of them can be counted.
  const counted = [...fields.entries()].filter(([, { field }]) => {
    return !mayBeInArray(field.path) && field.types.some((type) => !/^(object|null)$/.test(type))
  })
  try {
    for (let at = 0; at < Math.min(counted.length, SHARES_MAX); at += SHARES_A_QUERY) {
      const some = counted.slice(at, at + SHARES_A_QUERY)
      const paths = some.map(([, { field }]) => field.path)
      const found = await countShares(invocation, streamId, paths)
      for (const [index, [place]] of some.entries()) shares[place] = found[index]
    }
  } catch (cause) {
    if (!(cause instanceof ApiFailure)) throw cause
    terminal.note(`shares are not known: ${cause.message}`)
  }
  if (counted.length > SHARES_MAX) terminal.note(`shares of the first ${SHARES_MAX} fields only`)
  return shares
}

async function countShares(
  { client, values }: Invocation,
  streamId: string,
  paths: readonly string[],
): Promise<readonly (number | undefined)[]> {
  const body = {
    time_basis: readClock(values).basis,
    from: '-1d',
    ...rangeOf(values),
    aggregates: [
      { fn: 'count', as: 'all' },
      ...paths.map((path, index) => ({ fn: 'count', field: inBackquotes(path), as: `f${index}` })),
    ],
  }
  const { rows } = await client.json<{
    readonly rows: readonly Readonly<Record<string, number>>[]
  }>(`streams/${streamId}/query`, { body })
  const [row] = rows
  const all = row?.all ?? 0
  return paths.map((_, index) => (all === 0 ? undefined : (row?.[`f${index}`] ?? 0) / all))
}

function rowOf({ field, text }: Learned, share: number | undefined): string[] {
  const types = `${field.types.join(',')}${field.conflict ? ' (conflict)' : ''}`
  const samples = jsonAt(wholeJson(text), 'samples')
  const shown = samples === undefined ? '' : samplesOf(samples)
  return [field.path, types, shareText(share), field.last_seen_at, shown]
}

function samplesOf(samples: JsonSpan): string {
  const text = visibleLine([...jsonElements(samples)].map(jsonText).join(', '))
  return text.length > SAMPLE_CHARS_MAX ? `${text.slice(0, SAMPLE_CHARS_MAX)}…` : text
}

function shareText(share: number | undefined): string {
  if (share === undefined) return '-'
  const percent = 100 * share
  if (percent > 0 && percent < 0.1) return '<0.1 %'
  return `${percent.toFixed(percent < 10 && percent > 0 ? 1 : 0)} %`
}
