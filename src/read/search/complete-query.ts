/**
 * Proposals for an input box: how the query can continue at a position. Fields are the catalog's,
 * values the most frequent ones among the newest events.
 */
import { type Completion, complete } from '../../language/complete.ts'
import { quote, writeField } from '../../language/format.ts'
import { type Field, SYSTEM_FIELDS } from '../../language/query-tree.ts'
import { COMPLETE_MS_MAX, COMPLETE_PROPOSALS_MAX } from '../../limits.ts'
import { LEVELS } from '../../model/event-labels.ts'
import type { PathParts, SourceStream } from '../../model/field-catalog.ts'
import { SEGMENT_ID_MAX } from '../../model/segment-id.ts'
import type { Stream } from '../../model/stream.ts'
import type { TopValue, ValueQuestion } from '../../store/projection/reads/value-store.ts'
import { StoreError } from '../../store/store-error.ts'
import type { SearchDeps } from './search.ts'
import { WindowSize } from './window-size.ts'

export interface CompleteDeps extends Pick<SearchDeps, 'openStreams' | 'sources'> {
  /** `ValueStore`'s. */
  readonly topValues: (question: ValueQuestion, signal: AbortSignal) => Promise<readonly TopValue[]>
}

export interface Proposal {
  /** What replaces the text from `start` to `end`. */
  readonly text: string
  readonly kind: 'field' | 'value' | 'operator'
  /** Of a value: among the events that were looked at. */
  readonly count?: number
}

const OPERATORS = ['AND', 'OR', 'AND NOT']

/** For `text` at `at`, in UTF-16 code units. Never throws for a text that is not a query. */
export async function completeQuery(
  deps: CompleteDeps,
  stream: Stream,
  { text, at }: { readonly text: string; readonly at: number },
  signal: AbortSignal,
) {
  const place = complete(text, at)
  const { kind, start, end, prefix, isQuoted } = place
  const proposals = await propose(deps, stream, place, signal)
  const shown = proposals.slice(0, COMPLETE_PROPOSALS_MAX)
  return { kind, start, end, prefix, is_quoted: isQuoted, proposals: shown }
}

async function propose(
  deps: CompleteDeps,
  stream: Stream,
  place: Completion,
  signal: AbortSignal,
): Promise<readonly Proposal[]> {
  if (place.kind === 'none') return []
  if (place.kind === 'operator') {
    const typed = place.prefix.toUpperCase()
    const fitting = OPERATORS.filter((operator) => operator.startsWith(typed))
    return fitting.map((text) => ({ text, kind: 'operator' }))
  }
  const [source] = await deps.openStreams([stream])
  if (source === undefined) return []
  return place.kind === 'clause'
    ? fieldsLike(source, place)
    : valuesLike(deps, source, place, signal)
}

/** Those that begin so come first, then those that have it somewhere. */
function fieldsLike({ catalog }: SourceStream, { prefix, element }: Completion): Proposal[] {
  const typed = prefix.toLowerCase()
  const names =
    element === undefined
      ? [...textsOf(catalog.paths), ...SYSTEM_FIELDS]
      : catalog.paths.flatMap((parts) => {
          const inside = insideOf(parts, element.parts)
          return inside === undefined ? [] : [fieldText(inside)]
        })
  const rank = (name: string) => (name.toLowerCase().startsWith(typed) ? 0 : 1)
  const isBefore = (a: string, b: string) => {
    return (rank(a) - rank(b) || a.length - b.length || (a < b ? -1 : 1)) < 0
  }
  // Of thousands few are shown: to sort them all would take the main thread's time.
  const first: string[] = []
  for (const name of new Set(names)) {
    const isFull = first.length === COMPLETE_PROPOSALS_MAX
    if (!name.toLowerCase().includes(typed) || (isFull && !isBefore(name, first.at(-1)!))) continue
    if (isFull) first.pop()
    const at = first.findIndex((other) => isBefore(name, other))
    first.splice(at < 0 ? first.length : at, 0, name)
  }
  return first.map((name) => ({ text: `${name}:`, kind: 'field' }))
}

const texts = new WeakMap<readonly PathParts[], readonly string[]>()

/** How the paths of a catalog are written; kept, as each keystroke asks for all of them. */
function textsOf(paths: readonly PathParts[]): readonly string[] {
  const known = texts.get(paths) ?? paths.map(fieldText)
  texts.set(paths, known)
  return known
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
  source: SourceStream,
  { field, prefix, isQuoted }: Completion,
  signal: AbortSignal,
): Promise<readonly Proposal[]> {
  const known = field && (await knownValues(deps, source, field, prefix, signal))
  return (known ?? []).map(({ value, isString, count }) => {
    const isPlain = !isQuoted && /^[A-Za-z0-9_]+$/.test(value) && !/^(?:and|or|not)$/i.test(value)
    const looksOther = isString && /^(?:[0-9.+-]|true$|false$)/.test(value)
    const text = !isString || (isPlain && !looksOther) ? value : quote(value)
    return { text, kind: 'value', ...(count > 0 && { count }) }
  })
}

async function knownValues(
  { sources, topValues }: CompleteDeps,
  source: SourceStream,
  field: Field,
  prefix: string,
  signal: AbortSignal,
): Promise<readonly TopValue[]> {
  if (field.kind === 'system' && field.name === '_level') {
    const fitting = LEVELS.filter((level) => level.startsWith(prefix.toLowerCase()))
    return fitting.map((value) => ({ value, isString: true, count: 0 }))
  }
  const path = field.kind === 'path' && field.parts.length === 1 ? field.parts[0] : undefined
  const isService = field.kind === 'system' && field.name === '_service'
  if (path === undefined && !isService) return []
  const all = { start: 0n, end: SEGMENT_ID_MAX, newestFirst: true }
  const extent = await sources.readExtent([source], all)
  if (extent === undefined) return []
  const newest = extent.end - new WindowSize(extent).span
  const isCut = newest > extent.start
  const range = { start: isCut ? newest : extent.start, end: extent.end }
  const question = { source, path, range, prefix, limit: COMPLETE_PROPOSALS_MAX }
  try {
    return await topValues({ ...question, msMax: COMPLETE_MS_MAX }, signal)
  } catch (cause) {
    // Proposals are only a help: without them the query can still be typed.
    if (cause instanceof StoreError) return []
    throw cause
  }
}
