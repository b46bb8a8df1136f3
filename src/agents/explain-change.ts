/** What is different from before, in as few characters as tell it. */
import { readElementTexts, readMemberTexts } from '../api/json-text.ts'
import { type CompareDeps, compare } from '../read/compare/compare.ts'
import { COMPARE_PROPERTIES, readCompareRequest } from '../read/compare/compare-request.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import { QUERY_TEXT, READ_PROPERTIES } from '../read/schemas.ts'
import { type AgentTool, findCallersStreams, namesOf, STREAMS_ARG } from './agent-tool.ts'
import { lagSeconds } from './aggregate.ts'
import { cutStrings, cutText, fitRows } from './fit-text.ts'

export interface ExplainChangeDeps extends CompareDeps {
  readonly streams: StreamFinder & StreamSource
  readonly queries: Lane
}

/** Of the whole result: what surrounds the findings is at most the rest. */
const RESULT_CHARS_MAX = 4_000
const FINDINGS_CHARS_MAX = 3_000
const TEXT_CHARS_MAX = 400
const WHOLE_CHARS_MAX = 300

const { query, fields, limit, time_basis } = COMPARE_PROPERTIES
const { from, to } = READ_PROPERTIES
const BASELINE_HINT = 'Instead of "baseline"'

export function explainChangeTool(deps: ExplainChangeDeps): AgentTool {
  return {
    name: 'explain_change',
    title: 'Explain what is different from before',
    description:
      'What comes more or less often, or has other numbers, from "from" to "to" than before: ' +
      'values of labels and fields, new fields, shifted durations, each with a query that finds ' +
      'just these events (search_events). What all events have in common, such as more ' +
      'traffic, is told as "whole" and makes no findings. Ask it first when something broke and ' +
      'nobody knows what. Counts may lag behind ingest: "lag_s", seconds.',
    scope: 'events:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        stream: STREAMS_ARG,
        ...{ query, from, to },
        baseline: {
          type: 'string',
          enum: ['before', 'yesterday'],
          default: 'before',
          description: 'As long a range before, or the same range a day earlier',
        },
        baseline_from: { ...from, description: `${BASELINE_HINT}: where it begins` },
        baseline_to: { ...from, description: `${BASELINE_HINT}: where it ends` },
        baseline_query: {
          ...QUERY_TEXT,
          description: `${BASELINE_HINT}: other events of the range, such as version:1.2`,
        },
        ...{ fields, limit, time_basis },
      },
      required: ['stream'],
    },
    run: async ({ principal, args, signal }) => {
      const found = await findCallersStreams(deps.streams, principal, args.stream)
      const request = readCompareRequest(toMembers(args), deps.nowMs())
      const text = await deps.queries.run(principal.tokenId, signal, () => {
        return compare(deps, request, found, signal)
      })
      const names = found.length > 1 ? namesOf(principal, found) : undefined
      return tellComparison(text, names)
    },
  }
}

function toMembers({
  from: start,
  to: end,
  baseline = 'before',
  baseline_from: earlier,
  baseline_to: until,
  baseline_query: other,
  stream: _,
  ...members
}: Readonly<Record<string, unknown>>) {
  const given = {
    ...(earlier !== undefined && { from: earlier }),
    ...(until !== undefined && { to: until }),
    ...(other !== undefined && { query: other }),
  }
  const window = {
    ...(start !== undefined && { from: start }),
    ...(end !== undefined && { to: end }),
  }
  return { ...members, window, baseline: Object.keys(given).length > 0 ? given : baseline }
}

function tellComparison(text: string, names: ReadonlyMap<string, string> | undefined): string {
  const answer = readMemberTexts(text)
  const findings = readElementTexts(answer.get('findings') ?? '[]')
  const shown = fitRows(
    findings.map((finding) => tellFinding(finding, names)),
    FINDINGS_CHARS_MAX,
  )
  const member = (name: string) => answer.get(name) ?? 'null'
  const whole = JSON.parse(readMemberTexts(member('whole')).get('text') ?? '""') as string
  const looked = readMemberTexts(member('looked_at'))
  const parts = [
    `"findings":[${shown.json}]`,
    `"whole":${JSON.stringify(cutText(whole, WHOLE_CHARS_MAX))}`,
    `"events_looked_at":${looked.get('events')}`,
    `"fields_looked_at":${readElementTexts(looked.get('fields') ?? '[]').length}`,
    `"fields_left_out":${readMemberTexts(member('left_out')).get('fields')}`,
    `"estimated":${member('estimated')}`,
    `"complete":${member('complete')}`,
    `"as_of":${member('as_of')}`,
    `"lag_s":${lagSeconds(answer)}`,
    `"truncated":${shown.isCut}`,
  ]
  return cutText(`{${parts.join(',')}}`, RESULT_CHARS_MAX - 20)
}

function tellFinding(json: string, names: ReadonlyMap<string, string> | undefined): string {
  const finding = readMemberTexts(json)
  const asked = finding.get('query') ?? '""'
  const [example] = readElementTexts(finding.get('examples') ?? '[]').map(readMemberTexts)
  const stream = finding.get('stream') ?? 'null'
  const id = stream === 'null' ? undefined : (JSON.parse(stream) as string)
  return cutStrings(
    `{"text":${finding.get('text')}` +
      // A query that is cut finds nothing.
      (asked.length > TEXT_CHARS_MAX ? '' : `,"query":${asked}`) +
      (id === undefined ? '' : `,"stream":${JSON.stringify(names?.get(id) ?? id)}`) +
      (example === undefined ? '' : `,"example":${example.get('id')}`) +
      '}',
    TEXT_CHARS_MAX,
  )
}
