/** What the evaluator asks, answered from a list of events; and rules kept in memory. */
import type { AskDeps } from '../../src/alerts/asking/ask-windows.ts'
import { readRuleSettings, taskOf } from '../../src/alerts/rule-settings.ts'
import { IngestError } from '../../src/errors.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { Stream, StreamId } from '../../src/model/stream.ts'
import type {
  DecisionStore,
  NewDecision,
  RuleDecision,
  StoredState,
} from '../../src/store/alerts/decision-store.ts'
import type { Rule } from '../../src/store/alerts/rule.ts'
import type { NewTransition } from '../../src/store/alerts/transitions-sql.ts'
import type { AggregateTask } from '../../src/store/projection/reads/aggregate-store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { unknownCatalog } from '../store/projection/compile/test-catalog.ts'

export const STREAM = { streamId: 1, name: 'web', textFields: [] } as unknown as Stream
const NS_PER_MS = 1_000_000n

export interface TimedEvent {
  readonly ms: number
  readonly service: string
}

/**
 * Counts events by time, and by service where groups are asked for. Whatever the query of an
 * aggregate is: it is about those of service b.
 */
export class CountedEvents implements AskDeps {
  events: TimedEvent[] = []
  /** Up to where all are in the projection. */
  asOfMs = Number.POSITIVE_INFINITY
  removedBefore = 0n as SegmentId
  /** Thrown instead of an answer. */
  fault: Error | undefined
  /** Queries that name this field fail. */
  faultOf: string | undefined
  /** All of a window are more than can be counted. */
  large = false
  /** Ranges that were asked for, in ms. */
  readonly asked: [fromMs: number, toMs: number][] = []

  readonly openStreams = async () => ({
    sources: [
      {
        streamId: 1 as StreamId,
        catalog: unknownCatalog(1 as StreamId, []),
        removedBefore: this.removedBefore,
      },
    ],
    asOfMs: this.asOfMs,
  })

  readonly runAggregate = async (task: AggregateTask) => {
    const { fromNs, toNs, keys, aggregates } = task
    const [fromMs, toMs] = [Number(fromNs / NS_PER_MS), Number(toNs / NS_PER_MS)]
    this.asked.push([fromMs, toMs])
    if (this.fault !== undefined) throw this.fault
    const isAbout = this.faultOf !== undefined && JSON.stringify(task.query).includes(this.faultOf)
    if (isAbout) throw new IngestError('unavailable', 'no answer in time')
    const isGrouped = keys.some(({ kind }) => kind !== 'bucket')
    const [buckets] = keys.flatMap((key) => (key.kind === 'bucket' ? [key.buckets] : []))
    const counts = new Map<string, { all: number; ofB: number }>()
    let total = 0n
    for (const { ms, service } of this.events) {
      if (ms < fromMs || ms >= toMs) continue
      const bucket = buckets && Math.floor((ms - buckets.startMs) / buckets.stepMs)
      const key = JSON.stringify([bucket ?? null, isGrouped ? service : null])
      const { all, ofB } = counts.get(key) ?? { all: 0, ofB: 0 }
      counts.set(key, { all: all + 1, ofB: ofB + (service === 'b' ? 1 : 0) })
      total++
    }
    const rows = [...counts].map(([key, count]) => {
      const [bucket, service] = JSON.parse(key) as [number | null, string | null]
      const group = service === null ? [] : [{ kind: 'string' as const, text: service }]
      const values = aggregates.map(({ query }) => String(query ? count.ofB : count.all))
      return { group, isOthers: false, bucket: bucket ?? undefined, values, leftOut: [0, 0] }
    })
    // As of the engine: without groups there is always a row.
    if (rows.length === 0 && keys.length === 0) {
      const values = aggregates.map(() => '0')
      rows.push({ group: [], isOthers: false, bucket: undefined, values, leftOut: [0, 0] })
    }
    const groups = new Set(rows.map(({ group }) => JSON.stringify(group))).size
    const stats = { rowsRead: 0, engineMs: 0 }
    if (this.large && task.query.kind === 'all') total = 10n ** 12n
    return { rows, total, groups, isEstimated: false, stats }
  }
}

interface KeptRule {
  rule: Rule
  readonly states: Map<string, StoredState>
  readonly decided: NewDecision[]
  readonly told: NewTransition[]
  retryAtMs: number
}

/** As `DecisionStore`, in memory. */
export class KeptDecisions
  implements Pick<DecisionStore, 'readDue' | 'readStates' | 'decide' | 'setBack' | 'recordFailure'>
{
  nowMs: number
  /** A rule whose decisions PostgreSQL refuses. */
  unstorable: string | undefined
  readonly #rules = new Map<number, KeptRule>()

  constructor(nowMs: number) {
    this.nowMs = nowMs
  }

  add(changes: object, cursorMs = this.nowMs): KeptRule {
    const settings = readRuleSettings({
      condition: { op: '>', value: 1 },
      window: '1m',
      channels: ['ops'],
      ...changes,
    })
    const ruleId = this.#rules.size + 1
    const { everyMs, delayMs } = taskOf(settings)
    const rule: Rule = {
      ...{ ruleId, name: `rule${ruleId}`, owner: 'ann', asAdmin: false, streamIds: undefined },
      ...{ settings, everyMs, delayMs, version: 1, createdAtMs: 0, updatedAtMs: 0, failures: 0 },
      ...{ cursorMs: Math.floor(cursorMs / everyMs) * everyMs, problem: undefined, isTold: false },
    }
    const kept = { rule, states: new Map(), decided: [], told: [], retryAtMs: 0 }
    this.#rules.set(ruleId, kept)
    return kept
  }

  async readDue(_limit: number, exceptIds: readonly number[]) {
    const due = [...this.#rules.values()].filter(({ rule, retryAtMs }) => {
      if (exceptIds.includes(rule.ruleId)) return false
      const { everyMs, delayMs } = rule
      const isOver = rule.cursorMs + everyMs + delayMs <= this.nowMs
      return retryAtMs <= this.nowMs && (isOver || rule.cursorMs > this.nowMs)
    })
    return { nowMs: this.nowMs, rules: due.map(({ rule }) => rule) }
  }

  async readStates(ruleIds: readonly number[]) {
    return new Map(ruleIds.map((id) => [id, [...this.#rules.get(id)!.states.values()]]))
  }

  async decide(decisions: readonly RuleDecision[]): Promise<ReadonlySet<RuleDecision>> {
    if (decisions.some(({ rule }) => rule.name === this.unstorable)) {
      throw new StoreError('other', 'no such value')
    }
    return new Set(decisions.filter((each) => this.#decide(each)))
  }

  #decide({ rule, decision }: RuleDecision): boolean {
    const kept = this.#rules.get(rule.ruleId)!
    if (kept.rule.cursorMs !== rule.cursorMs || kept.rule.version !== rule.version) return false
    kept.decided.push(decision)
    for (const each of decision.forgotten) kept.states.delete(each)
    for (const each of decision.changed) kept.states.set(each.fingerprint, each)
    kept.told.push(...decision.transitions)
    const fresh = { failures: 0, problem: undefined, isTold: false }
    kept.rule = { ...kept.rule, ...fresh, cursorMs: decision.window.untilMs }
    kept.retryAtMs = 0
    return true
  }

  async setBack(rule: Rule, untilMs: number, told: NewTransition): Promise<boolean> {
    const kept = this.#rules.get(rule.ruleId)!
    kept.rule = { ...kept.rule, cursorMs: untilMs }
    kept.told.push(told)
    return true
  }

  async recordFailure(
    rule: Rule,
    problem: string,
    retryMs: number,
    told: NewTransition | undefined,
  ): Promise<void> {
    const kept = this.#rules.get(rule.ruleId)!
    const isTold = kept.rule.isTold || told !== undefined
    kept.rule = { ...kept.rule, failures: kept.rule.failures + 1, problem, isTold }
    kept.retryAtMs = this.nowMs + retryMs
    if (told !== undefined) kept.told.push(told)
  }
}
