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
import type { DecisionStore, NewDecision, StoredWindow } from '../store/alerts/decision-store.ts'
import type { Rule } from '../store/alerts/rule.ts'
import { StoreError, storeFault } from '../store/store-error.ts'
import {
  ASKED_TOGETHER_MAX,
  type AskDeps,
  askWindows,
  NotYetError,
  RemovedError,
} from './ask-windows.ts'
import { AskingTurns } from './asking-turns.ts'
import type { Memories } from './decide-window.ts'
import { isOverdue, judgedOf, questionOf, taskOf } from './rule-settings.ts'
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

/** A rule with the windows to decide now. */
interface Due {
  rule: Rule
  memories: Memories
  readonly ends: readonly number[]
  readonly streams: readonly Stream[]
  /** `judgedOf` it. */
  readonly judged: string
}

/** When a round began: by PostgreSQL's clock and by the monotonic one. */
interface RoundTime {
  readonly nowMs: number
  readonly monotonicMs: number
}

export class Evaluator {
  readonly #parts: EvaluatorParts
  readonly #stopping = new AbortController()
  readonly #turns: AskingTurns<{ readonly bundle: readonly Due[]; readonly time: RoundTime }>
  /** Rules that are being decided, or wait for their turn. */
  readonly #busy = new Set<number>()
  #running: Promise<unknown> = Promise.resolve()
  #wasWorker = false
  #failures = 0

  constructor(parts: EvaluatorParts) {
    this.#parts = parts
    this.#turns = new AskingTurns(ASKED_AT_ONCE, async ({ bundle, time }) => {
      try {
        if (!this.#stopping.signal.aborted) await this.#decideAll(bundle, time)
      } catch (cause) {
        this.#tellError(cause)
      }
      for (const { rule } of bundle) this.#busy.delete(rule.ruleId)
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
    const { nowMs, rules } = await decisions.readDue(DUE_RULES_MAX)
    const time = { nowMs, monotonicMs: performance.now() }
    observer.onLag(lagOf(rules, nowMs))
    const idle = rules.filter(({ ruleId }) => !this.#busy.has(ruleId))
    if (idle.length === 0) return rules.length > 0
    const closed = await this.#close(idle, nowMs)
    if (closed === undefined) return true
    const due: Due[] = []
    const streamsOf = onceEach(this.#parts.streamsOf)
    for (const rule of idle) due.push(...(await this.#prepare(rule, closed, time, streamsOf)))
    await this.#remember(due)
    for (const bundle of bundlesOf(due)) {
      for (const { rule } of bundle) this.#busy.add(rule.ruleId)
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
      const judged = judgedOf(at.settings)
      return [{ rule: at, ends: plan.ends, streams, judged, memories: new Map() }]
    } catch (cause) {
      await this.#fail(rule, cause, time)
      return []
    }
  }

  /** The rule behind the gap; undefined when it was changed meanwhile. */
  async #giveUp(rule: Rule, gap: WindowPlan['gap'], reason: string): Promise<Rule | undefined> {
    if (gap === undefined) return rule
    if (!(await this.#decide(rule, gapOf(gap, reason), 0))) return undefined
    return { ...rule, cursorMs: gap.untilMs, isTold: false }
  }

  async #remember(due: readonly Due[]): Promise<void> {
    if (due.length === 0) return
    const states = await this.#parts.decisions.readStates(due.map(({ rule }) => rule.ruleId))
    for (const each of due) each.memories = memoriesOf(states.get(each.rule.ruleId) ?? [])
  }

  /** Of rules that ask the same. */
  async #decideAll(bundle: readonly Due[], time: RoundTime): Promise<void> {
    const first = bundle[0]!
    let left = [...bundle]
    const { streams, ends } = first
    const byJudged = new Map(bundle.map(({ judged, rule }) => [judged, rule.settings]))
    const rules = [...byJudged.values()]
    const places = new Map([...byJudged.keys()].map((judged, place) => [judged, place]))
    const question = { rules, streams, ends, timeoutMs: QUERY_MS_MAX }
    try {
      for await (const all of askWindows(this.#parts.ask, question, this.#stopping.signal)) {
        const next: Due[] = []
        for (const due of left) {
          const seen = all[places.get(due.judged)!]!
          const { decision, memories } = decisionOf(due.rule, due.memories, seen)
          const overMs = seen.endMs + due.rule.delayMs
          const lateMs = time.nowMs + performance.now() - time.monotonicMs - overMs
          if (!(await this.#decide(due.rule, decision, lateMs))) continue
          const rule = { ...due.rule, cursorMs: seen.endMs, isTold: false, failures: 0 }
          next.push({ ...due, rule, memories })
        }
        left = next
        if (left.length === 0 || this.#stopping.signal.aborted) break
      }
    } catch (cause) {
      for (const { rule, ends } of left) await this.#leave(rule, ends, cause, time)
    }
  }

  async #decide(rule: Rule, decision: NewDecision, lateMs: number): Promise<boolean> {
    const isDecided = await this.#parts.decisions.decide(rule, decision)
    if (isDecided) this.#parts.observer.onDecided(decision.window.outcome, Math.max(0, lateMs))
    return isDecided
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

/** Rules that ask the same of the same windows are asked together. */
function bundlesOf(due: readonly Due[]): Due[][] {
  const bundles = new Map<string, Due[]>()
  for (const each of due) {
    const streamIds = each.streams.map(({ streamId }) => streamId)
    const hasFailed = each.rule.failures > 0
    const question = questionOf(each.rule.settings)
    const key = JSON.stringify([question, streamIds, each.ends[0], hasFailed])
    const bundle = bundles.get(key)
    if (bundle === undefined) bundles.set(key, [each])
    else bundle.push(each)
  }
  return [...bundles.values()].flatMap(splitBundle)
}

/** Into as many as have few enough aggregates. */
function splitBundle(bundle: Due[]): Due[][] {
  const places = new Map<string, number>()
  const parts: Due[][] = []
  for (const each of bundle) {
    const place = places.get(each.judged) ?? places.size
    places.set(each.judged, place)
    const part = Math.floor(place / ASKED_TOGETHER_MAX)
    parts[part] ??= []
    parts[part].push(each)
  }
  return parts
}

/** For people, without anything of events. */
export function problemText(cause: unknown): string {
  if (cause instanceof IngestError) return cause.message
  return cause instanceof StoreError ? storeFault(cause) : 'an internal error; see the log'
}
