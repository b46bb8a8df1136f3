/**
 * The kinds of messages among matching events: patterns with exact counts, those that differ in
 * words that vary as one row, each with a query for exactly its events.
 */
import { mainTurns, renderInTurns } from '../../api/main-turns.ts'
import { LEVELS } from '../../model/event-labels.ts'
import {
  type PatternTemplate,
  type TemplatePart,
  tryReadTemplate,
} from '../../model/patterns/pattern-template.ts'
import type {
  CountedPattern,
  PatternsResult,
  PatternsTask,
} from '../../store/projection/reads/patterns-store.ts'
import { formatTimeNs, honestMembers, type TimeRange, UNLEARNED } from '../answer-coverage.ts'
import { countedFor, missesPaths } from '../depends-on-catalog.ts'
import type { AskedStreams, OpenStreams } from '../read-deps.ts'
import { type Cluster, type ClusterPart, clusterPatterns } from './cluster-patterns.ts'
import type { PatternsRequest } from './patterns-request.ts'

/** The first patterns, by the request's order, that are clustered; others are counted. */
export const PATTERNS_CLUSTERED_MAX = 1_000
/** Steps of the range in which events of a row are counted. */
export const SPARK_STEPS = 24
/** Events of a row that are named. */
const EXAMPLES_MAX = 3
/** Texts after which others have their turn. */
const TURN_TEXTS = 50
/** Characters of a slot's example. */
const SLOT_CHARS_MAX = 80

export interface PatternsDeps {
  readonly openStreams: OpenStreams
  readonly nowMs: () => number
  /** `PatternsStore`'s. */
  readonly patterns: {
    run(task: PatternsTask, signal?: AbortSignal): Promise<PatternsResult>
    texts(
      task: PatternsTask,
      patterns: readonly CountedPattern[],
      signal?: AbortSignal,
    ): Promise<ReadonlyMap<string, readonly string[]>>
  }
}

/** A row of the answer. */
interface PatternRow {
  readonly cluster: Cluster<CountedPattern>
  readonly count: number
  readonly before: number
}

/** The answer as JSON. `signal` ends it. Throws `malformed`, `unavailable`. */
export async function findPatterns(
  { openStreams, nowMs, patterns: store }: PatternsDeps,
  request: PatternsRequest,
  streams: AskedStreams,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const startMs = performance.now()
  const opened = await openStreams(streams)
  const { sources } = opened
  const { asOfMs, ...counted } = countedFor([request.query], opened)
  const sizes = { limit: PATTERNS_CLUSTERED_MAX, steps: SPARK_STEPS }
  const task = { ...request, ...counted, streams: sources, ...sizes }
  const found = await store.run(task, signal)
  const templates = await readTemplates(await store.texts(task, found.patterns, signal))
  const rest = () => mainTurns.next()
  const clusters = await clusterPatterns(found.patterns, ({ id }) => templates.get(id), rest)
  await rest()
  const rows = sortRows(clusters.map(toRow), request, lengthsRatio(request, request.baseline))
  const shown = rows.slice(0, request.limit)
  const tail = tailMembers(found, shown, request)
  const honesty = honestMembers({
    ...{ asOfMs, nowMs: nowMs() },
    ...(missesPaths([request.query], sources) && { shortfall: UNLEARNED }),
  })
  const elapsed = Math.round((performance.now() - startMs) * 10) / 10
  const members = { ...tail, ...honesty, stats: { elapsed_ms: elapsed } }
  const json = function* () {
    yield '{"patterns":['
    for (const [index, row] of shown.entries()) {
      yield `${index === 0 ? '' : ','}${JSON.stringify(rowMembers(row, found, request))}`
    }
    yield `],${JSON.stringify(members).slice(1)}`
  }
  return (await renderInTurns(json()))!
}

/** The text of an event that has its pattern: other text fields of it have others. */
async function readTemplates(
  texts: ReadonlyMap<string, readonly string[]>,
): Promise<ReadonlyMap<string, PatternTemplate>> {
  const templates = new Map<string, PatternTemplate>()
  let read = 0
  for (const [id, some] of texts) {
    for (const text of some) {
      if (read++ % TURN_TEXTS === 0) await mainTurns.next()
      const template = tryReadTemplate(text)
      if (template?.id !== id) continue
      templates.set(id, template)
      break
    }
  }
  return templates
}

function toRow(cluster: Cluster<CountedPattern>): PatternRow {
  const sum = (of: (pattern: CountedPattern) => number) => {
    return cluster.patterns.reduce((total, pattern) => total + of(pattern), 0)
  }
  return { cluster, count: sum(({ count }) => count), before: sum(({ before }) => before) }
}

/** How many events of the range one of the range to compare with stands for. */
function lengthsRatio(range: TimeRange, baseline: TimeRange | undefined): number {
  if (baseline === undefined) return 1
  return Number(range.toNs - range.fromNs) / Number(baseline.toNs - baseline.fromNs)
}

function sortRows(
  rows: readonly PatternRow[],
  { sort }: Pick<PatternsRequest, 'sort'>,
  ratio: number,
): readonly PatternRow[] {
  const isNew = ({ before }: PatternRow) => Number(before === 0)
  const growth = ({ count, before }: PatternRow) => {
    return (count - before * ratio) / Math.sqrt(before * ratio + 1)
  }
  return rows.toSorted((a, b) => {
    const first = sort === 'new' ? isNew(b) - isNew(a) : 0
    const second = sort === 'growth' ? growth(b) - growth(a) : 0
    return first || second || b.count - a.count
  })
}

function rowMembers(
  { cluster, count, before }: PatternRow,
  found: PatternsResult,
  { baseline, ...range }: PatternsRequest,
) {
  const { patterns, parts } = cluster
  const ids = patterns.map(({ id }) => id)
  const expected = before * lengthsRatio(range, baseline)
  const delta = baseline && {
    baseline_count: before,
    is_new: before === 0,
    factor: before === 0 ? null : rounded(count / expected),
  }
  const sparkline = Array.from({ length: SPARK_STEPS }, (_, step) => {
    return patterns.reduce((total, { steps }) => total + (steps[step] ?? 0), 0)
  })
  const newest = patterns.toSorted((a, b) => (a.segmentId < b.segmentId ? 1 : -1))
  return {
    template: parts.length === 0 ? null : clusterText(parts),
    parts: parts.map(shortPart),
    count,
    share: found.events === 0 ? 0 : rounded(count / found.events),
    first_seen: formatTimeNs(sorted(patterns.map(({ firstNs }) => firstNs))[0]!),
    last_seen: formatTimeNs(sorted(patterns.map(({ lastNs }) => lastNs)).at(-1)!),
    levels: levelCounts(patterns),
    sparkline,
    pattern_ids: ids,
    query: ids.length === 1 ? `_pattern:${ids[0]}` : `_pattern:(${ids.join(' OR ')})`,
    examples: newest.slice(0, EXAMPLES_MAX).map(({ streamId, segmentId, ordinal }) => {
      return { stream: streamId, id: `${segmentId}-${ordinal}` }
    }),
    ...delta,
  }
}

/** What is not among the rows: the sums of all are the events that match. */
function tailMembers(
  found: PatternsResult,
  shown: readonly PatternRow[],
  { baseline, ...range }: PatternsRequest,
) {
  const told = shown.reduce((sum, { count }) => sum + count, 0)
  const ids = shown.reduce((sum, { cluster }) => sum + cluster.patterns.length, 0)
  return {
    events: found.events,
    without_pattern: found.without,
    others: { patterns: found.distinct - ids, events: found.events - found.without - told },
    distinct: found.distinct,
    step_ms: Number((range.toNs - range.fromNs) / 1_000_000n) / SPARK_STEPS,
    baseline: baseline
      ? {
          from: formatTimeNs(baseline.fromNs),
          to: formatTimeNs(baseline.toNs),
          events: found.before,
        }
      : null,
  }
}

function levelCounts(patterns: readonly CountedPattern[]): Readonly<Record<string, number>> {
  const sums = LEVELS.map((level, index) => {
    return [level, patterns.reduce((sum, { levels }) => sum + (levels[index] ?? 0), 0)] as const
  })
  return Object.fromEntries(sums.filter(([, count]) => count > 0))
}

/** `user <value> logged in` */
export function clusterText(parts: readonly (ClusterPart | TemplatePart)[]): string {
  return parts.map((part) => ('slot' in part ? `<${part.slot}>` : part.text)).join('')
}

function shortPart(part: ClusterPart): ClusterPart {
  if ('text' in part) return part
  const examples = part.examples.map((text) => [...text].slice(0, SLOT_CHARS_MAX).join(''))
  return { slot: part.slot, examples }
}

function sorted(moments: readonly bigint[]): readonly bigint[] {
  return moments.toSorted((a, b) => Number(a - b))
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
