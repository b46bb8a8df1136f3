/**
 * Answers what is different from before, by statements over both sides:
 *
 *   how many events ─▶ which fields have few values ─▶ all their values, in one pass (of many
 *   events, among some) ─▶ candidates ─▶ which of these each event meets, exactly ─▶ findings
 *   ─▶ the values that have all that is new of the first ones in common ─▶ these, exactly
 */
import { conjoin } from '../../language/combine.ts'
import type { Query } from '../../language/query-tree.ts'
import { COMPARE_FINDINGS_MAX } from '../../limits.ts'
import type { FieldRef } from '../../model/aggregates.ts'
import type { SourceStream } from '../../model/field-catalog.ts'
import type {
  AggregateResult,
  AggregateTask,
} from '../../store/projection/reads/aggregate-store.ts'
import type {
  BothCounts,
  ComparedSides,
  CompareKey,
  FieldKinds,
  KindsTask,
  MaskCount,
  MasksTask,
  ValueCount,
  ValuesTask,
} from '../../store/projection/reads/compare-task.ts'
import { UNLEARNED } from '../answer-coverage.ts'
import { countedFor, missesPaths } from '../depends-on-catalog.ts'
import type { AskedStreams, OpenStreams } from '../read-deps.ts'
import { type Candidate, queryOf, conditionText as textOf } from './candidate.ts'
import { chooseKeys, knownFields, labelsOf } from './choose-fields.ts'
import { chooseFindings, type Finding, MaskedEvents, telling } from './choose-findings.ts'
import { type Comparison, compareJson } from './compare-answer.ts'
import type { ComparedEvents, CompareRequest } from './compare-request.ts'
import { findCandidates, tellsSidesApart } from './find-candidates.ts'
import { areApart, oneInOf, oneInOfFinding, type Total, type Totals } from './granules-read.ts'
import { EVENTS_MIN, type Scale } from './judge-change.ts'
import { keysWithin, NARROWED_MAX, type Narrowed, narrow, valueKey } from './narrow-findings.ts'

export interface CompareDeps {
  readonly openStreams: OpenStreams
  /** `AggregateStore`'s. */
  readonly compareTotal: (task: AggregateTask, signal?: AbortSignal) => Promise<AggregateResult>
  /** `CompareStore`'s. */
  readonly compareKinds: (task: KindsTask, signal?: AbortSignal) => Promise<readonly FieldKinds[]>
  readonly compareValues: (task: ValuesTask, signal?: AbortSignal) => Promise<readonly ValueCount[]>
  readonly compareMasks: (
    task: MasksTask,
    signal?: AbortSignal,
  ) => Promise<readonly MaskCount[] | undefined>
  readonly nowMs: () => number
}

/** Events whose fields show which of these have few values. */
const LOOKED_INTO_EVENTS = 40_000
const VALUES_MAX = 1_000
/** Of events that stand for more. */
const SAMPLED_MIN = 3
/** Conditions that are looked at together; a third where these have too many combinations. */
const CONDITIONS_MAX = 30
/** Candidates with the same counts are most likely about the same events: a few tell as much. */
const EQUALS_MAX = 3
/** Parts of a range: how much a value varies in the baseline shows by these. */
const SLOTS = 8
/**
 * Who draws a range over what went wrong draws it a little late: the last parts of the range right
 * before it may have some of it, and do not say how much something varies anyway.
 */
const LATE_SLOTS = 2

/** The answer as JSON. `signal` ends it. Throws `malformed`, `unavailable`. */
export async function compare(
  deps: CompareDeps,
  request: CompareRequest,
  streams: AskedStreams,
  signal: AbortSignal,
): Promise<string> {
  const startMs = performance.now()
  const opened = await deps.openStreams(streams)
  const { sources } = opened
  const queries = [request.query, request.baseline.query]
  const { asOfMs, ...counted } = countedFor(queries, opened)
  const of = { ...counted, streams: sources, signal, asOfMs, startMs }
  const comparison = await new Comparing(deps, request, of).run()
  const shortfall = missesPaths(queries, sources) ? UNLEARNED : undefined
  const honesty = { asOfMs, nowMs: deps.nowMs(), ...(shortfall && { shortfall }) }
  return compareJson(request, comparison, honesty, performance.now() - startMs)
}

interface Scope extends Pick<ComparedSides, 'streams' | 'observed'> {
  readonly streams: readonly SourceStream[]
  readonly signal: AbortSignal
  readonly asOfMs: number
  readonly startMs: number
}

/** What was counted of all events. */
interface Looked {
  readonly keys: readonly CompareKey[]
  readonly values: readonly ValueCount[]
  /** That the events are among. */
  readonly rows: number
  readonly scale: Scale
}

class Comparing {
  readonly #deps: CompareDeps
  readonly #request: CompareRequest
  readonly #scope: Scope

  constructor(deps: CompareDeps, request: CompareRequest, scope: Scope) {
    this.#deps = deps
    this.#request = request
    this.#scope = scope
  }

  async run(): Promise<Comparison> {
    const { baseline } = this.#request
    const [now, then] = await Promise.all([this.#total(this.#request), this.#total(baseline)])
    const [window, before] = [now.events, then.events]
    const events = { window, baseline: before }
    const rows = Math.max(window + before, now.rows + then.rows)
    const seconds = {
      window: secondsOf(this.#request, this.#request, this.#scope.asOfMs),
      baseline: secondsOf(baseline, this.#request, this.#scope.asOfMs),
    }
    const nothing = { findings: [], events, seconds, lookedAt: { window: 0, baseline: 0 } }
    const none = { fields: [], values: 0, leftOut: [], more: 0 }
    if (window === 0 || before === 0) return { ...nothing, ...none }
    const { keys, leftOut, more } = await this.#keys(events)
    const { values, sampled, oneIn } = await this.#values(keys, events, { now, then })
    const spans = this.#request.isByQuery ? events : seconds
    const rough: Scale = {
      events: sampled,
      // As long as the events that were looked at are of the whole.
      spans: {
        window: (spans.window * sampled.window) / window,
        baseline: (spans.baseline * sampled.baseline) / before,
      },
      tests: values.length,
      eventsMin: Math.max(SAMPLED_MIN, Math.ceil(EVENTS_MIN / oneIn.window)),
    }
    const { candidates, everNew } = findCandidates(keys, values, rough, this.#mayBeString)
    const chosen = this.#request.isByQuery
      ? candidates.filter((candidate) => !tellsSidesApart(candidate, sampled))
      : candidates
    const of = { spans, tests: values.length }
    const exact =
      chosen.length > 0
        ? await this.#exactly(fewAlike(chosen), of)
        : { findings: [], scale: { ...of, events } }
    const findings = await this.#narrow(exact.findings, { keys, values, rows, scale: exact.scale })
    const compared = new Set(keys.map(({ field }) => JSON.stringify(field)))
    return {
      findings: findings.slice(0, this.#request.limit),
      events: exact.scale.events,
      seconds,
      lookedAt: sampled,
      fields: [...compared].map((text) => JSON.parse(text) as FieldRef),
      values: values.length,
      leftOut: [...leftOut, ...everNew],
      more,
    }
  }

  /** Whether the catalog says that a field has strings in some stream. */
  #mayBeString = (path: string): boolean => {
    return this.#scope.streams.some(({ catalog }) => {
      return catalog.typesOf([path]).scalars.includes('String')
    })
  }

  get #leftMs(): number {
    const { startMs } = this.#scope
    return Math.max(1, this.#request.timeoutMs - (performance.now() - startMs))
  }

  get #sides(): Omit<ComparedSides, 'timeoutMs'> {
    const { streams, observed } = this.#scope
    const { timeBasis, fromNs, toNs, query, baseline } = this.#request
    const window = { fromNs, toNs, query }
    return { streams, timeBasis, window, baseline, ...(observed && { observed }) }
  }

  async #total({ fromNs, toNs, query }: ComparedEvents): Promise<Total> {
    const { streams, observed, signal } = this.#scope
    const { total, stats } = await this.#deps.compareTotal(
      {
        ...{ streams, fromNs, toNs, query, timeBasis: this.#request.timeBasis },
        ...(observed && { observed }),
        timeoutMs: this.#leftMs,
        aggregates: [{ fn: 'count', field: undefined, query: undefined, name: 'count' }],
        keys: [],
        order: { of: 'aggregate', index: 0, isDescending: true },
        limit: 1,
        hasOthers: false,
      },
      signal,
    )
    return { events: Number(total), rows: stats.rowsRead }
  }

  async #keys(events: BothCounts) {
    const { streams, signal } = this.#scope
    const asked = this.#request.fields
    const isPath = ({ kind }: FieldRef) => kind === 'path'
    const known = asked ? { fields: asked.filter(isPath), more: 0 } : knownFields(streams)
    const labels = asked ? asked.filter((field) => !isPath(field)) : labelsOf(streams)
    const { fields } = known
    const all = Math.floor((events.window + events.baseline) / LOOKED_INTO_EVENTS)
    const oneIn = { window: all, baseline: all }
    const task = { ...this.#sides, timeoutMs: this.#leftMs, oneIn, fields }
    const kinds = fields.length === 0 ? [] : await this.#deps.compareKinds(task, signal)
    const keys = chooseKeys(labels, fields, kinds, asked !== undefined)
    const chosen = new Set(keys.map(({ field }) => JSON.stringify(field)))
    const leftOut = fields.filter((field) => !chosen.has(JSON.stringify(field)))
    return { keys, leftOut, more: known.more }
  }

  /** Of some events where there are many; of all where some are none of a side. */
  async #values(keys: readonly CompareKey[], events: BothCounts, { now, then }: Totals) {
    const wanted = { window: oneInOf(now), baseline: oneInOf(then) }
    const least = Math.min(wanted.window, wanted.baseline)
    const chosen = areApart(this.#request) ? wanted : { window: least, baseline: least }
    for (const oneIn of [chosen, { window: 1, baseline: 1 }]) {
      const task: ValuesTask = {
        ...{ ...this.#sides, timeoutMs: this.#leftMs, oneIn, keys },
        limit: VALUES_MAX,
        eventsMin: Math.max(1, Math.ceil(EVENTS_MIN / 2 / Math.max(oneIn.window, oneIn.baseline))),
        baselineTimes: events.baseline / events.window,
      }
      const values = await this.#deps.compareValues(task, this.#scope.signal)
      const isAll = oneIn.window === 1 && oneIn.baseline === 1
      const sampled = isAll ? events : totalsOf(keys, values)
      if (sampled.window > 0 && sampled.baseline > 0) return { values, sampled, oneIn }
    }
    throw new Error('all events are none')
  }

  /** Their findings, by exact counts. */
  async #exactly(
    candidates: readonly Candidate[],
    of: Pick<Scale, 'spans' | 'tests'>,
    most = CONDITIONS_MAX,
  ): Promise<{ readonly findings: Finding[]; readonly scale: Scale }> {
    const conditions: MasksTask['conditions'][number][] = []
    const bits: number[] = []
    const varying: number[] = []
    for (const { condition, shift } of candidates) {
      const needed = shift === undefined ? 1 : 2
      if (conditions.length + needed > most) break
      bits.push(2 ** conditions.length)
      conditions.push(condition)
      varying.push(2 ** (conditions.length - 1 + (shift === undefined ? 0 : 1)))
      if (shift !== undefined) conditions.push({ kind: 'query', query: shift.above })
    }
    const task = { ...this.#sides, timeoutMs: this.#leftMs, conditions, slots: SLOTS }
    const groups = await this.#deps.compareMasks(task, this.#scope.signal)
    if (groups === undefined) return this.#exactly(candidates, of, Math.floor(most / 3))
    const masked = new MaskedEvents(groups)
    const events = masked.all
    // Of a window up to now there may be more events than there were at first.
    const scale = { ...of, events, spans: this.#request.isByQuery ? events : of.spans }
    const { fromNs, baseline } = this.#request
    const usual = baseline.toNs === fromNs ? SLOTS - LATE_SLOTS : SLOTS
    const spreads = bits.map((bit, at) => {
      return Math.max(masked.spread(bit, usual), masked.spread(varying[at]!, usual))
    })
    const used = candidates.slice(0, bits.length)
    const findings = chooseFindings(used, bits, masked, { scale, spreads })
    return { findings: findings.slice(0, COMPARE_FINDINGS_MAX), scale }
  }

  /** The first findings, narrower where all that is new of them has a value in common. */
  async #narrow(all: readonly Finding[], of: Looked): Promise<readonly Finding[]> {
    const findings: Finding[] = []
    const found: { readonly finding: Finding; readonly pair: Candidate }[] = []
    for (const wide of all.slice(0, NARROWED_MAX)) {
      const { within, pair } = await this.#lookInto(wide, of)
      const known = new Set([...wide.same, ...wide.also].map(({ condition }) => textOf(condition)))
      const finding = { ...wide, within: within.filter((one) => !known.has(textOf(one))) }
      findings.push(finding)
      const { candidate } = finding
      if (pair === undefined) continue
      found.push({
        finding,
        pair: { ...candidate, kind: 'pair', condition: pair, others: undefined },
      })
    }
    findings.push(...all.slice(NARROWED_MAX))
    if (found.length === 0) return findings
    const exact = await this.#countPairs(found.map(({ pair }) => pair))
    return inPlaceOfWider(findings, found, exact, of.scale).sort((a, b) => telling(b) - telling(a))
  }

  async #lookInto(finding: Finding, { keys, values, rows, scale }: Looked): Promise<Narrowed> {
    const own = queryOf(finding.candidate.condition)
    const within = keysWithin(finding, keys)
    if (own === undefined || within.length === 0) return { within: [], pair: undefined }
    const { window, baseline } = finding.counts
    const all = oneInOfFinding(finding.counts, rows)
    const task: ValuesTask = {
      ...narrowed(this.#sides, own),
      ...{ timeoutMs: this.#leftMs, keys: within, limit: VALUES_MAX },
      oneIn: { window: all, baseline: all },
      eventsMin: Math.max(1, Math.ceil(EVENTS_MIN / 2 / all)),
      baselineTimes: Math.max(baseline, 1) / Math.max(window, 1),
    }
    const counts = await this.#deps.compareValues(task, this.#scope.signal)
    const side = finding.change.isMore ? 'window' : 'baseline'
    const events = totalsOf(keys, values)[side]
    const shares = new Map(
      values.map((value) => [valueKey(keys[value.key]!.field, value), value[side] / events]),
    )
    const looked = { keys: within, values: counts }
    return narrow(finding, looked, shares, { ...scale, mayBeString: this.#mayBeString })
  }

  async #countPairs(pairs: readonly Candidate[]): Promise<MaskedEvents> {
    const conditions = pairs.map(({ condition }) => condition)
    const task = { ...this.#sides, timeoutMs: this.#leftMs, conditions, slots: SLOTS }
    return new MaskedEvents((await this.#deps.compareMasks(task, this.#scope.signal)) ?? [])
  }
}

/** Pairs that are changes, and what they were found in no more. Pairs may be about the same. */
function inPlaceOfWider(
  findings: readonly Finding[],
  found: readonly { readonly finding: Finding; readonly pair: Candidate }[],
  events: MaskedEvents,
  scale: Scale,
): Finding[] {
  const candidates = found.map(({ pair }) => pair)
  const bits = found.map((_, at) => 2 ** at)
  const pairs = chooseFindings(candidates, bits, events, { scale, spreads: bits.map(() => 1) })
  const wider = new Map(found.map(({ finding, pair }) => [pair, finding]))
  const gone = new Set<Finding>()
  const narrower = pairs.map((pair): Finding => {
    const replaced = [pair.candidate, ...pair.same, ...pair.also].map((one) => wider.get(one)!)
    for (const one of replaced) gone.add(one)
    const also = replaced.flatMap((one) => [one.candidate, ...one.same, ...one.also])
    return { ...pair, same: [], also }
  })
  return [...narrower, ...findings.filter((finding) => !gone.has(finding))]
}

function narrowed<T extends Pick<ComparedSides, 'window' | 'baseline'>>(sides: T, query: Query): T {
  const { window, baseline } = sides
  const both = (own: Query) => (own.kind === 'all' ? query : conjoin('and', [own, query]))
  return {
    ...sides,
    window: { ...window, query: both(window.query) },
    baseline: { ...baseline, query: both(baseline.query) },
  }
}

/** All events, as one key's values add up to them. */
function totalsOf(keys: readonly CompareKey[], values: readonly ValueCount[]): BothCounts {
  const sums = keys.map(() => ({ window: 0, baseline: 0 }))
  for (const { key, window, baseline } of values) {
    sums[key]!.window += window
    sums[key]!.baseline += baseline
  }
  return {
    window: Math.max(...sums.map(({ window }) => window)),
    baseline: Math.max(...sums.map(({ baseline }) => baseline)),
  }
}

function fewAlike(candidates: readonly Candidate[]): Candidate[] {
  const times = new Map<string, number>()
  return candidates.filter(({ counts: { window, baseline } }) => {
    const key = `${window} ${baseline}`
    times.set(key, (times.get(key) ?? 0) + 1)
    return times.get(key)! <= EQUALS_MAX
  })
}

/** How long a range is, as far as its events are there. */
function secondsOf(
  { fromNs, toNs }: Pick<ComparedEvents, 'fromNs' | 'toNs'>,
  { timeBasis }: CompareRequest,
  asOfMs: number,
): number {
  const thereNs = BigInt(Math.round(asOfMs)) * 1_000_000n
  const endNs = timeBasis === 'ingested_at' && thereNs > fromNs && thereNs < toNs ? thereNs : toNs
  return Number(endNs - fromNs) / 1e9
}
