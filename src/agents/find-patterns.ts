/** What kinds of messages there are, in few characters. */
import { readMemberTexts } from '../api/json-text.ts'
import { MCP_PATTERNS_CHARS_MAX } from '../limits.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import { findPatterns, type PatternsDeps } from '../read/patterns/find-patterns.ts'
import { PATTERNS_PROPERTIES, readPatternsRequest } from '../read/patterns/patterns-request.ts'
import { type AgentTool, findCallersStreams, STREAMS_ARG } from './agent-tool.ts'
import { lagSeconds } from './aggregate.ts'
import { cutText, fitRows } from './fit-text.ts'

export interface FindPatternsDeps extends PatternsDeps {
  readonly streams: StreamFinder & StreamSource
  readonly queries: Lane
}

/** Reserved for what surrounds the rows. */
const FRAME_CHARS = 700
const TEMPLATE_CHARS_MAX = 200
/** A row of more patterns says its first ones, and how many there are. */
const IDS_MAX = 3

const { timeout_ms: _, baseline: __, ...PROPERTIES } = PATTERNS_PROPERTIES
const { from: MOMENT } = PATTERNS_PROPERTIES.baseline.properties

interface Row {
  readonly template: string | null
  readonly count: number
  readonly first_seen: string
  readonly levels: Readonly<Record<string, number>>
  readonly pattern_ids: readonly string[]
  readonly is_new?: boolean
  readonly factor?: number | null
}

export function findPatternsTool(deps: FindPatternsDeps): AgentTool {
  return {
    name: 'find_patterns',
    title: 'Find patterns of messages',
    description:
      'What kinds of messages there are: texts with what varies replaced by <slots>, with exact ' +
      'counts. The cheapest first look at many events. sort="new" tells what was not there in ' +
      'the baseline, "growth" what became more. "_pattern:ID" in a query selects the events.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        stream: STREAMS_ARG,
        ...PROPERTIES,
        baseline_from: { ...MOMENT, description: 'Compare with the range from here' },
        baseline_to: { ...MOMENT, description: 'To here; by default the range before' },
      },
      required: ['stream'],
    },
    run: async ({ principal, args, signal }) => {
      const found = await findCallersStreams(deps.streams, principal, args.stream)
      const { stream, baseline_from: from, baseline_to: to, ...members } = args
      const isCompared = from !== undefined || to !== undefined
      const baseline = isCompared
        ? { from: from ?? '', to: to ?? members.from ?? '-1h' }
        : undefined
      const request = readPatternsRequest({ ...members, baseline }, deps.nowMs())
      const json = await deps.queries.run(principal.tokenId, signal, () => {
        return findPatterns(deps, request, found, signal)
      })
      return tellPatterns(Buffer.from(json).toString())
    },
  }
}

function tellPatterns(text: string): string {
  const answer = readMemberTexts(text)
  const rows = JSON.parse(answer.get('patterns') ?? '[]') as readonly Row[]
  const shown = fitRows(rows.map(rowText), MCP_PATTERNS_CHARS_MAX - FRAME_CHARS)
  const parts = [`"patterns":[${shown.json}]`]
  for (const name of ['events', 'without_pattern', 'others', 'distinct', 'complete', 'as_of']) {
    parts.push(`"${name}":${answer.get(name) ?? 'null'}`)
  }
  const left = rows.length - shown.count
  parts.push(`"lag_s":${lagSeconds(answer)}`, `"truncated":${left > 0}`)
  if (left > 0) {
    const hint = `${left} more rows: narrow the query, for instance by NOT _pattern:ID`
    parts.push(`"hint":${JSON.stringify(hint)}`)
  }
  return `{${parts.join(',')}}`
}

/** Without what most rows have in common. */
function rowText(row: Row): string {
  const ids = row.pattern_ids
  const more = ids.length - IDS_MAX
  return JSON.stringify({
    n: row.count,
    ...(row.is_new !== undefined && { change: row.is_new ? 'new' : row.factor }),
    template: row.template === null ? null : cutText(row.template, TEMPLATE_CHARS_MAX),
    ...(Object.keys(row.levels).length > 0 && { levels: row.levels }),
    ...(row.is_new === true && { since: row.first_seen }),
    id: ids.length === 1 ? ids[0] : ids.slice(0, IDS_MAX),
    ...(more > 0 && { more_ids: more }),
  })
}
