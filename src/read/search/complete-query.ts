/**
 * Proposals for an input box: how the query can continue at a position. Fields are the catalog's,
 * values the most frequent ones among the newest events.
 */
import { type Completion, complete } from '../../language/complete.ts'
import { quote, writeField } from '../../language/format.ts'
import { QueryError } from '../../language/query-error.ts'
import { type Field, SYSTEM_FIELDS } from '../../language/query-tree.ts'
import { COMPLETE_MS_MAX, COMPLETE_PROPOSALS_MAX } from '../../limits.ts'
import { LEVELS } from '../../model/event-labels.ts'
import type { PathParts, SourceStream } from '../../model/field-catalog.ts'
import {
  compareRanked,
  FirstOf,
  foldName,
  matchRank,
  type RankedName,
} from '../../model/match-names.ts'
import type { FieldType } from '../../model/schema.ts'
import { SEGMENT_ID_MAX } from '../../model/segment-id.ts'
import type { Stream } from '../../model/stream.ts'
import type { TopValue, ValueQuestion } from '../../store/projection/reads/value-store.ts'
import { StoreError } from '../../store/store-error.ts'
import { type FieldSource, findFields } from '../find-fields.ts'
import type { SearchDeps } from './search.ts'
import { WindowSize } from './window-size.ts'

export interface CompleteDeps extends Pick<SearchDeps, 'openStreams' | 'sources'> {
  /** `ValueStore`'s. */
  readonly topValues: (question: ValueQuestion, signal: AbortSignal) => Promise<readonly TopValue[]>
  readonly fieldIndex: FieldSource
}

export interface Proposal {
  /** What replaces the text from `start` to `end`. */
  readonly text: string
  readonly kind: 'field' | 'value' | 'operator'
  /** Of a value: among the events that were looked at. */
  readonly count?: number
  /** Of a field. */
  readonly types?: readonly FieldType[]
  /** Of a field: the share of events that have it, where it is known. */
  readonly share?: number
}

const OPERATORS = ['AND', 'OR', 'AND NOT']

/** For `text` at `at`, in UTF-16 code units. Never throws for a text that is not a query. */
export async function completeQuery(
  deps: CompleteDeps,
  streams: readonly Stream[],
  { text, at }: { readonly text: string; readonly at: number },
  signal: AbortSignal,
) {
  const place = complete(text, at)
  const { kind, start, end, prefix, isQuoted } = place
  const proposals = await propose(deps, streams, place, signal)
  const shown = proposals.slice(0, COMPLETE_PROPOSALS_MAX)
  return { kind, start, end, prefix, is_quoted: isQuoted, proposals: shown }
}

async function propose(
  deps: CompleteDeps,
  streams: readonly Stream[],
  place: Completion,
  signal: AbortSignal,
): Promise<readonly Proposal[]> {
  if (place.kind === 'none' || streams.length === 0) return []
  if (place.kind === 'operator') {
    const typed = place.prefix.toUpperCase()
    const fitting = OPERATORS.filter((operator) => operator.startsWith(typed))
    return fitting.map((text) => ({ text, kind: 'operator' }))
  }
  if (place.kind === 'clause' && place.element === undefined) {
    return await fieldsLike(deps.fieldIndex, streams, place.prefix)
  }
  const sources = await deps.openStreams(streams)
  return place.kind === 'clause'
    ? fieldsInside(sources, place.prefix, place.element!.parts)
    : valuesLike(deps, sources, place, signal)
}

/** Those of the catalog and the service's own, the best first. */
async function fieldsLike(
  source: FieldSource,
  streams: readonly Stream[],
  prefix: string,
): Promise<readonly Proposal[]> {
  const wish = { contains: prefix, limit: COMPLETE_PROPOSALS_MAX, inArrays: true, objects: false }
  const { fields } = await findFields(source, streams, wish)
  const first = new FirstOf<RankedName & Pick<Proposal, 'types'>>(
    COMPLETE_PROPOSALS_MAX,
    compareRanked,
  )
  const typed = foldName(prefix)
  for (const { path, name, types, share } of fields) {
    const rank = matchRank(foldName(path), typed) ?? 0
    first.add({ name, rank, share: share ?? undefined, types })
  }
  for (const name of SYSTEM_FIELDS) {
    const rank = matchRank(name, typed)
    if (rank !== undefined) first.add({ name, rank, share: undefined })
  }
  return first.kept.map(({ name, share, types }) => {
    const known = { ...(types && { types }), ...(share !== undefined && { share }) }
    return { text: `${name}:`, kind: 'field', ...known }
  })
}

function fieldsInside(
  sources: readonly SourceStream[],
  prefix: string,
  array: PathParts,
): readonly Proposal[] {
  const typed = foldName(prefix)
  const first = new FirstOf<RankedName>(COMPLETE_PROPOSALS_MAX, compareRanked)
  const names = sources.flatMap(({ catalog }) => {
    return catalog.paths.flatMap((parts) => {
      const inside = insideOf(parts, array)
      return inside === undefined ? [] : [fieldText(inside)]
    })
  })
  for (const name of new Set(names)) {
    const rank = matchRank(foldName(name), typed)
    if (rank !== undefined) first.add({ name, rank, share: undefined })
  }
  return first.kept.map(({ name }) => ({ text: `${name}:`, kind: 'field' }))
}

/** What of a path lies within the elements of an array; the last of `array` is empty. */
function insideOf(parts: PathParts, array: PathParts): PathParts | undefined {
  const around = array.slice(0, -1)
  const isInside = parts.length > around.length && around.every((part, at) => parts[at] === part)
  const inside = parts.slice(around.length)
  return isInside && inside[0] !== '' ? inside : undefined
}

function fieldText(parts: PathParts): string {
  return writeField({ kind: 'path', parts, start: 0, end: 0 })
}

async function valuesLike(
  deps: CompleteDeps,
  streams: readonly SourceStream[],
  { field, prefix, isQuoted }: Completion,
  signal: AbortSignal,
): Promise<readonly Proposal[]> {
  const known = field && (await knownValues(deps, streams, field, prefix, signal))
  return (known ?? []).map(({ value, isString, count }) => {
    const isPlain = !isQuoted && /^[A-Za-z0-9_]+$/.test(value) && !/^(?:and|or|not)$/i.test(value)
    const looksOther = isString && /^(?:[0-9.+-]|true$|false$)/.test(value)
    const text = !isString || (isPlain && !looksOther) ? value : quote(value)
    return { text, kind: 'value', ...(count > 0 && { count }) }
  })
}

async function knownValues(
  { sources, topValues }: CompleteDeps,
  streams: readonly SourceStream[],
  field: Field,
  prefix: string,
  signal: AbortSignal,
): Promise<readonly TopValue[]> {
  if (field.kind === 'system' && field.name === '_level') {
    const fitting = LEVELS.filter((level) => level.includes(prefix.toLowerCase()))
    return fitting.map((value) => ({ value, isString: true, count: 0 }))
  }
  const path = field.kind === 'path' && field.parts.length === 1 ? field.parts[0] : undefined
  const isService = field.kind === 'system' && field.name === '_service'
  if (path === undefined && !isService) return []
  const all = { start: 0n, end: SEGMENT_ID_MAX, newestFirst: true }
  const extent = await sources.readExtent(streams, all)
  if (extent === undefined) return []
  const newest = extent.end - new WindowSize(extent).span
  const isCut = newest > extent.start
  const range = { start: isCut ? newest : extent.start, end: extent.end }
  const question = { streams, path, range, part: prefix, limit: COMPLETE_PROPOSALS_MAX }
  try {
    return await topValues({ ...question, msMax: COMPLETE_MS_MAX }, signal)
  } catch (cause) {
    // Proposals are only a help: without them the query can still be typed.
    if (cause instanceof StoreError || cause instanceof QueryError) return []
    throw cause
  }
}
