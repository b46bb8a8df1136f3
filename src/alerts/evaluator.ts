/**
 * Decides the windows of all rules, each once, in their order.
 *
 *   due rules ─▶ closing marks of all nodes ─▶ the projection has all ─▶ query ─▶ one transaction
 *
 * A window is due when nothing can come into it any more: every node has said that it will commit
 * nothing below its end. It is decided when all of it is in the projection. Of all nodes the one
 * that holds the lock does this; it remembers nothing from round to round.
 *
 * Unknown is never in order: a query that fails leaves its windows due, and past three of them that
 * is told. What is too old to be made up for is given up, stored and told.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { IngestError } from '../errors.ts'
import { CLOCK_LEAD_MS_MAX, QUERY_MS_MAX } from '../limits.ts'
import type { Stream } from '../model/stream.ts'
import type { Closed } from '../store/alerts/closing-store.ts'
import type { DecisionStore, RuleDecision, StoredWindow } from '../store/alerts/decision-store.ts'
import type { Rule } from '../store/alerts/rule.ts'
import { StoreError, storeFault } from '../store/store-error.ts'
import { type AskDeps, askWindows, NotYetError, RemovedError } from './asking/ask-windows.ts'
import { AskingTurns } from './asking/asking-turns.ts'
import { bundlesOf, bySearch, type Due } from './asking/bundles.ts'
import { countEvents } from './asking/count-events.ts'
import { questionOf } from './asking/joint-request.ts'
import type { SeenWindow } from './decide-window.ts'
import { isOverdue, taskOf } from './rule-settings.ts'
import { decisionOf, gapOf, memoriesOf } from './stored-decision.ts'
import { lastEnd, planWindows, type WindowPlan } from './windows.ts'

/** How often the node that evaluates looks for due windows; oftener while it waits for some. */
export const EVALUATE_MS = 1_000
const WAITING_MS = 250
/** Rules of one round, and those that are asked for at a time. */
const DUE_RULES_MAX = 2_000
const ASKED_AT_ONCE = 4
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 60_000
/** Of windows that rules about different searches are asked about at once. */
const TOGETHER_EVENTS_MAX = 1_000_000

export interface EvaluatorObserver {
  readonly onWorker: (isWorker: boolean) => void
  /** `lateMs`: since the window was over. */
  readonly onDecided: (outcome: StoredWindow['outcome'], lateMs: number) => void
  readonly onFailed: (rule: Rule, cause: unknown) => void
  /** How long the oldest due window of any rule is over. */
  readonly onLag: (lagMs: number) => void
  readonly onFenced: (nodeIds: readonly number[]) => void
  /** A round that failed as a whole. */
  readonly onError: (cause: unknown, failures: number) => void
}

export interface EvaluatorParts {
  readonly lock: {
    tryHold(): Promise<boolean>
    stop(): Promise<void>
  }
  readonly decisions: Pick<
    DecisionStore,
    'readDue' | 'readStates' | 'decide' | 'setBack' | 'recordFailure'
  >
  readonly closing: {
    want(ms: number): Promise<void>
    read(): Promise<Closed | undefined>
  }
  /** Ends what nodes that are gone could still commit; returns which. */
  readonly fenceGone: () => Promise<readonly number[]>
  readonly streamsOf: (rule: Rule) => Promise<readonly Stream[]>
  readonly ask: AskDeps
  readonly observer: EvaluatorObserver
  /** For tests. */
  readonly roundMs?: number
}

/** When a round began: by PostgreSQL's clock and by the monotonic one. */
interface RoundTime {
  readonly nowMs: number
  readonly monotonicMs: number
  /** See `isLight`. */
  readonly counted: Map<string, Promise<number>>
}

export class Evaluator {
  readonly #parts: EvaluatorParts
  readonly #stopping = new AbortController()
  readonly #turns: AskingTurns<{ readonly bundle: readonly Due[]; readonly time: RoundTime }>
  /** Rules that are being decided, or wait for their turn, by their ids. */
  readonly #busy = new Map<number, Rule>()
  #running: Promise<unknown> = Promise.resolve()
  #wasWorker = false
  #failures = 0

  constructor(parts: EvaluatorParts) {
    this.#parts = parts
    this.#turns = new AskingTurns(ASKED_AT_ONCE, async ({ bundle, time }) => {
      let apart: readonly Due[] = []
      try {
        if (!this.#stopping.signal.aborted) apart = await this.#decideAll(bundle, time)
      } catch (cause) {
        this.#tellError(cause)
      }
      for (const { rule } of bundle) this.#busy.delete(rule.ruleId)
      for (const { rule } of apart) this.#busy.set(rule.ruleId, rule)
      for (const some of bySearch(apart)) this.#turns.add({ bundle: some, time }, false)
    })
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Ends after what is under way, and lets another node go on. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#turns.untilIdle()
    await this.#parts.lock.stop()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    const { roundMs = EVALUATE_MS } = this.#parts
    while (!signal.aborted) {
      let hasDue = false
      try {
        hasDue = await this.#look()
        this.#failures = 0
      } catch (cause) {
        this.#tellError(cause)
      }
      const ms = hasDue ? Math.min(WAITING_MS, roundMs) : roundMs
      await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  #tellError(cause: unknown): void {
    if (!this.#stopping.signal.aborted) this.#parts.observer.onError(cause, ++this.#failures)
  }

  /** One look, and all that it finds to decide. */
  async round(): Promise<void> {
    await this.#look()
    await this.#turns.untilIdle()
  }

  /** Hands out what can be decided; whether any window is due. */
  async #look(): Promise<boolean> {
    const { lock, decisions, observer } = this.#parts
    const isWorker = await lock.tryHold()
    if (isWorker !== this.#wasWorker) observer.onWorker(isWorker)
    this.#wasWorker = isWorker
    if (!isWorker) return false
    const busy = [...this.#busy.values()]
    const { nowMs, rules: idle } = await decisions.readDue(
      DUE_RULES_MAX,
      busy.map(({ ruleId }) => ruleId),
    )
    const time = { nowMs, monotonicMs: performance.now(), counted: new Map() }
    observer.onLag(lagOf([...busy, ...idle], nowMs))
    if (idle.length === 0) return busy.length > 0
    const closed = await this.#close(idle, nowMs)
    if (closed === undefined) return true
    const due: Due[] = []
    const streamsOf = onceEach(this.#parts.streamsOf)
    for (const rule of idle) due.push(...(await this.#prepare(rule, closed, time, streamsOf)))
    await this.#remember(due)
    for (const bundle of bundlesOf(due)) {
      for (const { rule } of bundle) this.#busy.set(rule.ruleId, rule)
      this.#turns.add({ bundle, time }, bundle[0]!.rule.failures > 0)
    }
    return true
  }

  /** Up to where all nodes are closed, once they were asked. */
  async #close(rules: readonly Rule[], nowMs: number): Promise<Closed | undefined> {
    const { closing, fenceGone, observer } = this.#parts
    const wantedMs = rules.reduce((most, { everyMs, delayMs }) => {
      return Math.max(most, lastEnd(everyMs, nowMs - delayMs) + delayMs)
    }, 0)
    await closing.want(wantedMs)
    const closed = await closing.read()
    if (closed === undefined || closed.closedMs >= wantedMs) return closed
    const fenced = await fenceGone()
    if (fenced.length > 0) observer.onFenced(fenced)
    return fenced.length > 0 ? await closing.read() : closed
  }

  /** What is to be decided of the rule: nothing, or one entry. */
  async #prepare(
    rule: Rule,
    closed: Closed,
    time: RoundTime,
    streamsOf: EvaluatorParts['streamsOf'],
  ): Promise<Due[]> {
    const { decisions } = this.#parts
    const { everyMs, delayMs } = rule
    if (rule.cursorMs > time.nowMs) {
      if (rule.cursorMs > time.nowMs + CLOCK_LEAD_MS_MAX) {
        const untilMs = lastEnd(everyMs, closed.closedMs)
        const reason = "PostgreSQL's clock was set back"
        const gap = { kind: 'gap', fromMs: untilMs, untilMs: rule.cursorMs, reason } as const
        await decisions.setBack(rule, untilMs, gap)
      }
      return []
    }
    const plan = planWindows({ everyMs, delayMs, cursorMs: rule.cursorMs }, closed.closedMs)
    if (plan.ends.length === 0) {
      const seconds = Math.round((time.nowMs - closed.closedMs) / 1_000)
      const since = closed.closedMs === 0 ? 'any time' : `${seconds} seconds ago`
      const reason = `node ${closed.nodeId} may still commit events of ${since}`
      await this.#wait(rule, reason, time)
      return []
    }
    try {
      const streams = await streamsOf(rule)
      const at = await this.#giveUp(rule, plan.gap, 'too much was due')
      if (at === undefined) return []
      const question = JSON.stringify(questionOf(at.settings))
      return [{ rule: at, ends: plan.ends, streams, question, memories: new Map() }]
    } catch (cause) {
      await this.#fail(rule, cause, time)
      return []
    }
  }

  /** The rule behind the gap; undefined when it was changed meanwhile. */
  async #giveUp(rule: Rule, gap: WindowPlan['gap'], reason: string): Promise<Rule | undefined> {
    if (gap === undefined) return rule
    const decision = gapOf(gap, reason)
    const made = await this.#parts.decisions.decide([{ rule, decision }])
    if (made.size === 0) return undefined
    this.#parts.observer.onDecided(decision.window.outcome, 0)
    return { ...rule, cursorMs: gap.untilMs, isTold: false }
  }

  async #remember(due: readonly Due[]): Promise<void> {
    if (due.length === 0) return
    const states = await this.#parts.decisions.readStates(due.map(({ rule }) => rule.ruleId))
    for (const each of due) each.memories = memoriesOf(states.get(each.rule.ruleId) ?? [])
  }

  /**
   * Rules about several searches are asked at once where that is cheap. Returns those that have to
   * be asked apart, each search in its own turn.
   */
  async #decideAll(bundle: readonly Due[], time: RoundTime): Promise<readonly Due[]> {
    const isOne = bySearch(bundle).length === 1
    if (!isOne && !(await this.#isLight(bundle, time))) return bundle
    return await this.#decideTogether(bundle, time, !isOne)
  }

  /**
   * Whether the windows are small: then most of what a statement costs is that it is one. Of large
   * ones a search reads only what an index leaves it, and of many it would be all of them.
   */
  async #isLight(bundle: readonly Due[], { counted }: RoundTime): Promise<boolean> {
    const { streams, ends, rule } = bundle[0]!
    const { windowMs } = taskOf(rule.settings)
    const range = { fromMs: ends[0]! - windowMs, endMs: ends.at(-1)! }
    const asked = { streams, ...range, timeBasis: rule.settings.time_basis }
    const key = JSON.stringify([streams.map(({ streamId }) => streamId), range, asked.timeBasis])
    const { signal } = this.#stopping
    const count =
      counted.get(key) ??
      countEvents(this.#parts.ask, asked, signal).catch(() => Number.POSITIVE_INFINITY)
    counted.set(key, count)
    return (await count) <= TOGETHER_EVENTS_MAX
  }

  /**
   * Window by window. With `isTry` returns those that were not decided, as not all could be
   * answered at once.
   */
  async #decideTogether(
    bundle: readonly Due[],
    time: RoundTime,
    isTry: boolean,
  ): Promise<readonly Due[]> {
    let left = bundle
    const { streams, ends } = bundle[0]!
    const dueEnds = ends.filter((end) => end > bundle[0]!.rule.cursorMs)
    try {
      const rules = bundle.map(({ rule }) => rule.settings)
      const question = { rules, streams, ends: dueEnds, timeoutMs: QUERY_MS_MAX }
      for await (const all of askWindows(this.#parts.ask, question, this.#stopping.signal)) {
        const seen = new Map(bundle.map(({ rule }, at) => [rule.ruleId, all[at]!]))
        left = await this.#decide(left, seen, time)
        if (left.length === 0 || this.#stopping.signal.aborted) break
      }
    } catch (cause) {
      const isEarly = cause instanceof NotYetError || cause instanceof RemovedError
      if (isTry && !isEarly) return left
      for (const { rule } of left) await this.#leave(rule, ends, cause, time)
    }
    return []
  }

  /** One window of each. Returns those that go on, as they are then. */
  async #decide(
    bundle: readonly Due[],
    seen: ReadonlyMap<number, SeenWindow>,
    time: RoundTime,
  ): Promise<Due[]> {
    const decided = bundle.map((due) => {
      const window = seen.get(due.rule.ruleId)!
      return { due, rule: due.rule, ...decisionOf(due.rule, due.memories, window) }
    })
    const made = await this.#store(decided, time)
    return decided.flatMap((each) => {
      if (!made.has(each)) return []
      const { due, decision, memories } = each
      const { outcome, untilMs } = decision.window
      const overMs = untilMs + due.rule.delayMs
      const lateMs = time.nowMs + performance.now() - time.monotonicMs - overMs
      this.#parts.observer.onDecided(outcome, Math.max(0, lateMs))
      const rule = { ...due.rule, cursorMs: untilMs, isTold: false, failures: 0 }
      return [{ ...due, rule, memories }]
    })
  }

  /** Some rules in a transaction; one by one where one of them cannot be stored. */
  async #store(
    decisions: readonly RuleDecision[],
    time: RoundTime,
  ): Promise<ReadonlySet<RuleDecision>> {
    const { decisions: store } = this.#parts
    const made = new Set<RuleDecision>()
    for (const some of batchesOf(decisions)) {
      try {
        for (const each of await store.decide(some)) made.add(each)
      } catch (cause) {
        if (some.length === 1 || !isOfData(cause)) throw cause
        for (const each of some) {
          await store.decide([each]).then(
            (one) => one.size > 0 && made.add(each),
            (reason) => this.#fail(each.rule, reason, time),
          )
        }
      }
    }
    return made
  }

  /** Its next window could not be decided. */
  async #leave(
    rule: Rule,
    ends: readonly number[],
    cause: unknown,
    time: RoundTime,
  ): Promise<void> {
    if (this.#stopping.signal.aborted) return
    if (cause instanceof NotYetError) {
      const seconds = Math.round((time.nowMs - cause.asOfMs) / 1_000)
      return await this.#wait(rule, `the projection is ${seconds} seconds behind`, time)
    }
    if (cause instanceof RemovedError) {
      const { windowMs } = taskOf(rule.settings)
      const untilMs = ends.findLast((end) => end - windowMs < cause.beforeMs) ?? rule.cursorMs
      const gap = { afterMs: rule.cursorMs, untilMs }
      await this.#giveUp(rule, untilMs > rule.cursorMs ? gap : undefined, cause.message)
      return
    }
    await this.#fail(rule, cause, time)
  }

  /** That something else is not so far is no failure, until it lasts. */
  async #wait(rule: Rule, reason: string, time: RoundTime): Promise<void> {
    if (!isOverdue(rule, time.nowMs) || rule.isTold) return
    await this.#fail(rule, new IngestError('unavailable', reason), time)
  }

  async #fail(rule: Rule, cause: unknown, { nowMs }: RoundTime): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#parts.observer.onFailed(rule, cause)
    const { cursorMs } = rule
    const reason = problemText(cause)
    const told =
      isOverdue(rule, nowMs) && !rule.isTold
        ? ({ kind: 'evaluation_failing', reason, fromMs: cursorMs, untilMs: nowMs } as const)
        : undefined
    const retryMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(10, rule.failures))
    await this.#parts.decisions.recordFailure(rule, reason, retryMs, told)
  }
}

/** Rules of the same rights that name the same streams are about the same. */
function onceEach(streamsOf: EvaluatorParts['streamsOf']): EvaluatorParts['streamsOf'] {
  const found = new Map<string, Promise<readonly Stream[]>>()
  return (rule) => {
    const { owner, asAdmin, streamIds, settings } = rule
    const key = JSON.stringify([owner, asAdmin, streamIds, settings.streams])
    const known = found.get(key) ?? streamsOf(rule)
    found.set(key, known)
    return known
  }
}

function lagOf(rules: readonly Rule[], nowMs: number): number {
  return rules.reduce((most, { everyMs, delayMs, cursorMs }) => {
    return Math.max(most, nowMs - (cursorMs + everyMs + delayMs))
  }, 0)
}

/** What is decided at once, and of how many groups, if one rule has not more. */
const BATCH_RULES_MAX = 100
const BATCH_STATES_MAX = 2_000

function batchesOf(decisions: readonly RuleDecision[]): RuleDecision[][] {
  const batches: RuleDecision[][] = []
  let states = 0
  for (const each of decisions) {
    const { changed, forgotten } = each.decision
    states += changed.length + forgotten.length
    const last = batches.at(-1)
    if (last === undefined || last.length === BATCH_RULES_MAX || states > BATCH_STATES_MAX) {
      states = changed.length + forgotten.length
      batches.push([each])
    } else last.push(each)
  }
  return batches
}

/** It is of what was to be stored, and not of the session or the store. */
function isOfData(cause: unknown): boolean {
  return cause instanceof StoreError && !cause.retryable && cause.kind !== 'lease_lost'
}

/** For people, without anything of events. */
export function problemText(cause: unknown): string {
  if (cause instanceof IngestError) return cause.message
  return cause instanceof StoreError ? storeFault(cause) : 'an internal error; see the log'
}
