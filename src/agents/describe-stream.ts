/** What is in a stream: fields with their types, fill rates and top values; shapes. */
import { readElementTexts, readMemberTexts } from '../api/json-text.ts'
import { FACET_FIELDS_MAX } from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { hasTypeConflict } from '../model/schema.ts'
import type { Stream, StreamId } from '../model/stream.ts'
import { type FacetsDeps, facets, readFacetsRequest } from '../read/aggregate/facets.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import type { FieldPage, FieldRecord, ShapeList, ShapePage } from '../store/catalog/schema-store.ts'
import { type AgentTool, findCallersStream, STREAM_ARG } from './agent-tool.ts'
import { lagSeconds } from './aggregate.ts'
import { cutStrings, fitRows } from './fit-text.ts'
import { QUERY_LANGUAGE } from './instructions.ts'

export interface DescribeStreamDeps extends FacetsDeps {
  readonly streams: StreamFinder & StreamSource
  readonly queries: Lane
  readonly listFields: (streamId: StreamId, page: FieldPage) => Promise<readonly FieldRecord[]>
  readonly listShapes: (streamId: StreamId, page: ShapePage) => Promise<ShapeList>
}

const FIELDS_DEFAULT = 60
const FIELDS_MAX = 200
const SHAPES_SHOWN = 5
const TOP_VALUES = 5
const FACETS_MS_MAX = 5_000
/** Values show what a field is like; get_event has them whole. */
const VALUE_CHARS_MAX = 60
const LATE =
  'nothing is known of its fields yet; they are learned within seconds of the first event'

export function describeStreamTool(deps: DescribeStreamDeps): AgentTool {
  return {
    name: 'describe_stream',
    title: 'Describe a stream',
    description:
      'The fields of a stream with their types, how many events of the last day have them and ' +
      'their most frequent values, or one sample where none is frequent, the most common shapes ' +
      'of events, and the query language. Call it before you search a stream that you do not ' +
      'know. Counts lag behind ingest: "lag_s", seconds.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        stream: STREAM_ARG,
        prefix: { type: 'string', maxLength: 256, description: 'Only fields with this prefix' },
        limit: { type: 'integer', minimum: 1, maximum: FIELDS_MAX, default: FIELDS_DEFAULT },
      },
      required: ['stream'],
    },
    run: async ({ principal, args, signal }) => {
      const stream = await findCallersStream(deps.streams, principal, args.stream)
      const limit = Number(args.limit ?? FIELDS_DEFAULT)
      const prefix = args.prefix as string | undefined
      const page = { after: undefined, limit: limit + 1, prefix, type: undefined }
      return deps.queries.run(principal.tokenId, signal, async () => {
        const [fields, { shapes }] = await Promise.all([
          deps.listFields(stream.streamId, { ...page, conflict: undefined }),
          deps.listShapes(stream.streamId, { after: undefined, limit: SHAPES_SHOWN }),
        ])
        const known = fields.slice(0, limit)
        const { values, lag_s } = await readValues(deps, stream, known, signal)
        const rows = fitRows(
          known.map((field) => tellField(field, values.get(field.path))),
          30_000,
        )
        const told = shapes.map(({ shape, events, lastSeenMs }) => {
          return { shape, events, last_seen_at: formatTimeMs(lastSeenMs) }
        })
        const tail = {
          truncated: rows.isCut || fields.length > limit,
          lag_s,
          ...(fields.length === 0 && prefix === undefined && { hint: LATE }),
          shapes: told,
          text_fields: stream.textFields.slice(0, 20),
          query_language: QUERY_LANGUAGE,
        }
        return `{"fields":[${rows.json}],${JSON.stringify(tail).slice(1)}`
      })
    },
  }
}

interface Values {
  /** By path, what is told of them. */
  readonly values: ReadonlyMap<string, string>
  readonly lag_s?: number
}

/** Top values and fill rates of the first fields that can be queried; none if that takes long. */
async function readValues(
  deps: FacetsDeps,
  stream: Stream,
  fields: readonly FieldRecord[],
  signal: AbortSignal,
): Promise<Values> {
  const asked = fields.filter(({ path }) => /^[\w@.-]+$/.test(path)).slice(0, FACET_FIELDS_MAX)
  if (asked.length === 0) return { values: new Map() }
  const paths = asked.map(({ path }) => path)
  const members = { fields: paths, limit: TOP_VALUES, from: '-1d', timeout_ms: FACETS_MS_MAX }
  try {
    const request = readFacetsRequest(members, deps.nowMs())
    const answer = readMemberTexts(await facets(deps, request, [stream], signal))
    const looked = answer.get('events') ?? '0'
    const rows = readElementTexts(answer.get('facets') ?? '[]').map(readMemberTexts)
    const values = rows.map((row, index) => {
      const fill = `,"events":${row.get('events')},"of":${looked},"distinct":${row.get('distinct')}`
      return [paths[index]!, `${fill}${tellTop(row.get('values') ?? '[]', asked[index]!)}`] as const
    })
    return { values: new Map(values), lag_s: lagSeconds(answer) }
  } catch (cause) {
    if (signal.aborted) throw cause
    return { values: new Map() } // The answer lists the fields without them.
  }
}

/** Values that come more than once; of others one sample shows as much. */
function tellTop(values: string, field: FieldRecord): string {
  const frequent = readElementTexts(values).filter((value) => {
    return readMemberTexts(value).get('count') !== '1'
  })
  if (frequent.length === 0) return tellSample(field)
  return `,"top":[${cutStrings(frequent.join(','), VALUE_CHARS_MAX)}]`
}

function tellSample({ samples: [sample] }: FieldRecord): string {
  return sample === undefined ? '' : `,"sample":${cutStrings(sample, VALUE_CHARS_MAX)}`
}

function tellField(field: FieldRecord, values: string | undefined): string {
  const { path, types } = field
  const conflict = hasTypeConflict(types) ? ',"conflict":true' : ''
  const head = cutStrings(JSON.stringify({ path, types })).slice(0, -1) + conflict
  return `${head}${values ?? tellSample(field)}}`
}
