/** `_msearch`: pairs of lines, a header that names the streams and a search. */
import { mainTurns } from '../api/main-turns.ts'
import { IngestError } from '../errors.ts'
import { elasticFault, elasticStatus } from '../http/elastic-reply.ts'
import { toIngestError } from '../http/guard.ts'
import { ELASTIC_SEARCHES_MAX } from '../limits.ts'
import { readFlag, readMembers, readText, refused } from './members.ts'
import type { Json } from './raw-json.ts'
import { readSearch } from './read-search.ts'
import type { Indices } from './resolve-indices.ts'
import { runSearch, type SearchRun } from './run-search.ts'

export interface MsearchText {
  readonly text: string
  /** Of the path, for headers without an index. */
  readonly index: string
}

const HEADER = [
  'index',
  'ignore_unavailable',
  'allow_no_indices',
  'expand_wildcards',
  'search_type',
  'preference',
  'routing',
  'request_cache',
  'max_concurrent_shard_requests',
  'ccs_minimize_roundtrips',
  'FromAlert',
]

/** Each search has its answer or its error; the others go on. */
export async function runMsearch(
  run: SearchRun,
  indices: Indices,
  { text, index }: MsearchText,
): Promise<{ readonly [name: string]: Json }> {
  const startMs = performance.now()
  const asked: (() => Promise<Json>)[] = []
  for (const [header, body] of readPairs(text)) {
    await mainTurns.next()
    asked.push(await readOne(run, indices, { header, body, index }).catch(refusing))
  }
  // Together, so that they can share scans.
  const responses = await Promise.all(asked.map((ask) => ask().catch(faultOf)))
  return { took: Math.round(performance.now() - startMs), responses }
}

function faultOf(cause: unknown): Json {
  const error = toIngestError(cause)
  return { error: elasticFault(error), status: elasticStatus(error) }
}

function refusing(cause: unknown): () => Promise<Json> {
  const fault = faultOf(cause)
  return () => Promise.resolve(fault)
}

function readPairs(text: string): (readonly [header: string, body: string])[] {
  const lines = text.split('\n').map((line) => line.trim())
  // A header may be an empty line, but not the end of the body.
  while (lines.at(-1) === '') lines.pop()
  if (lines.length === 0) throw refused('the body has no search')
  if (lines.length % 2 !== 0) throw refused('the body must have a header and a search in turn')
  const count = lines.length / 2
  if (count > ELASTIC_SEARCHES_MAX) {
    throw refused(`the body has over ${ELASTIC_SEARCHES_MAX} searches (ELASTIC_SEARCHES_MAX)`)
  }
  return Array.from({ length: count }, (_, at) => [lines[2 * at]!, lines[2 * at + 1]!] as const)
}

/** What runs it. */
async function readOne(
  run: SearchRun,
  indices: Indices,
  of: { readonly header: string; readonly body: string; readonly index: string },
): Promise<() => Promise<Json>> {
  const header = readMembers(parseLine(of.header || '{}', 'header'), 'header', HEADER)
  const given = header.index ?? of.index
  const index = Array.isArray(given) ? given.join(',') : readText(given, 'header.index')
  const ignoresUnknown = header.ignore_unavailable
  const mustBeWhole =
    run.mustBeWhole ||
    (header.FromAlert !== undefined && readFlag(header.FromAlert, 'header.FromAlert'))
  const streams = await indices.resolve(index === '' ? of.index : index, {
    ignoresUnknown:
      ignoresUnknown !== undefined && readFlag(ignoresUnknown, 'header.ignore_unavailable'),
  })
  const body = readSearch(parseLine(of.body, 'search'), run.nowMs)
  return () => runSearch({ ...run, mustBeWhole }, body, streams)
}

export function parseLine(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    const position = /position (\d+)/.exec(String(cause))?.[1]
    const at = position === undefined ? '' : ` at position ${position}`
    throw new IngestError('malformed', `the ${where} is not valid JSON${at}`, {
      members: { type: 'parsing_exception' },
    })
  }
}
