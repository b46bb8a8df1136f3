/** Builds what evaluates rules of alerts and writes down what becomes of them. */
import type { ExplainAlertDeps } from '../agents/explain-alert.ts'
import { createSender } from '../alerts/channels/channel-kinds.ts'
import { Deliverer, type DelivererParts } from '../alerts/deliverer.ts'
import { Evaluator, type EvaluatorObserver } from '../alerts/evaluator.ts'
import { Heartbeats } from '../alerts/heartbeats.ts'
import { lookAgain } from '../alerts/late-look.ts'
import { addSamples, type SampleDeps } from '../alerts/messages/read-samples.ts'
import { postWebhook } from '../alerts/post-webhook.ts'
import { repeat } from '../alerts/repeat.ts'
import { streamsOfRule } from '../alerts/rule-streams.ts'
import { TransitionPublisher } from '../alerts/transition-publisher.ts'
import { IngestError } from '../errors.ts'
import type { IngestEvents } from '../model/batch/agent-events.ts'
import type { Stream } from '../model/stream.ts'
import { openStreamsBy } from '../read/open-streams.ts'
import { search } from '../read/search/search.ts'
import type { ChannelRoutesDeps } from '../serve/alert-channels.ts'
import type { SilenceRoutesDeps } from '../serve/alerts/silences.ts'
import type { AlertParts as RuleParts } from '../serve/alerts.ts'
import { ActiveStore } from '../store/alerts/active-store.ts'
import { type AlertCounts, AlertCountsStore } from '../store/alerts/alert-counts.ts'
import { ChannelStore } from '../store/alerts/channel-store.ts'
import { ClosingStore } from '../store/alerts/closing-store.ts'
import { DecisionStore } from '../store/alerts/decision-store.ts'
import { type DueMessage, OutboxStore } from '../store/alerts/outbox-store.ts'
import { readOwnerRights } from '../store/alerts/owner-rights.ts'
import { QueueStore } from '../store/alerts/queue-store.ts'
import type { Rule } from '../store/alerts/rule.ts'
import { RuleStore } from '../store/alerts/rule-store.ts'
import { SilenceStore } from '../store/alerts/silence-store.ts'
import { TransitionStore } from '../store/alerts/transition-store.ts'
import { WindowStore } from '../store/alerts/window-store.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import { ReadStateStore } from '../store/raw/read-state-store.ts'
import { WorkerLock } from '../store/worker-lock.ts'
import { isWorthLogging, reasonOf } from '../telemetry/log.ts'
import type { Context } from './context.ts'
import type { Reading } from './create-reading.ts'
import type { Stores } from './open-stores.ts'

/** Like the keys of migrations, node numbers, retention and the projection's identity. */
const ALERTS_LOCK_KEY = '126943966294889'
const ALERTS_STATEMENT_MS_MAX = 30_000
/** How long decisions, transitions and messages are kept. */
const ALERT_HISTORY_MS = 30 * 24 * 3_600_000
const LOOK_BACK_MS = 30_000
const COUNT_MS = 15_000
const FORGET_ROWS_MAX = 10_000
/** An evaluator that did not look for due windows for so long is not alive. */
const ALIVE_MS = 30_000
/** Who asks in the lane: no token has it. */
const ASKER = 0

type RouteParts = RuleParts &
  ChannelRoutesDeps['alerts'] &
  SilenceRoutesDeps['alerts'] & {
    readonly active: ActiveStore
  } & Pick<AgentParts, 'streamsOf'>
type AgentParts = ExplainAlertDeps['alerts']

interface AlertParts {
  readonly reading: Reading
  readonly control: ControlStore
  readonly ingest: IngestEvents
}

/** What rules and backtests ask with: in their lane, of streams as far as they are projected. */
function alertReads(stores: Stores, { catalogs, lanes, runAggregate }: Reading) {
  // What is not behind is not bound by this machine's clock.
  const states = new ReadStateStore(stores.reads.postgres, () => Number.POSITIVE_INFINITY)
  return {
    openStreams: openStreamsBy(states, catalogs),
    runAggregate: (...[task, signal]: Parameters<typeof runAggregate>) => {
      const ended = signal ?? new AbortController().signal
      return lanes.alerts.run(ASKER, ended, () => runAggregate(task, signal))
    },
  }
}

/** Returns what routes need. */
export function startAlerts(context: Context, stores: Stores, parts: AlertParts): RouteParts {
  const { log, stoppers } = context
  const { postgres, lease } = stores
  const closing = new ClosingStore(postgres, lease)
  const ask = alertReads(stores, parts.reading)
  const lock = new WorkerLock(postgres, {
    key: ALERTS_LOCK_KEY,
    statementMsMax: ALERTS_STATEMENT_MS_MAX,
  })
  const decisions = new DecisionStore(lock.session, lease)
  const rights = {
    streams: parts.reading.streams,
    readRights: (owner: string) => readOwnerRights(stores.reads.postgres, owner),
  }
  const { isAlive, ...observer } = evaluatorObserver(context, lock)
  const streamsOf = (rule: Rule) => streamsOfRule(rights, rule)
  const evaluator = new Evaluator({
    ...{ lock, decisions, closing, streamsOf, ask, observer },
    fenceGone: () => lease.fenceGone(),
  })
  const publisher = new TransitionPublisher({
    store: new TransitionStore(postgres),
    isWorker: () => lock.isHeld,
    control: parts.control,
    ingest: parts.ingest,
    onError: (cause, failures) => {
      if (!isWorthLogging(failures)) return
      const reason = reasonOf(cause)
      log.warn({ reason }, 'what became of alerts is not in their stream yet; will retry')
    },
  })
  const ending = new AbortController()
  const late = { closing, decisions, streamsOf, ask, onFailed: observer.onFailed }
  const looking = lookBack(context, lock, late, ending.signal)
  const outbox = new OutboxStore(postgres)
  const rules = new RuleStore(postgres)
  const send = createSender({ nowMs: Date.now })
  const deliverer = new Deliverer({
    ...{ outbox, isWorker: () => lock.isHeld, send },
    queues: new QueueStore(postgres),
    addSamples: sampleReader(parts.reading, rules, streamsOf),
    publicUrl: context.config.publicUrl,
    ...deliveryObserver(context),
  })
  const store = new AlertCountsStore(postgres)
  watchAlerts(context, { store, isWorker: () => lock.isHeld, isAlive })
  evaluator.start()
  publisher.start()
  deliverer.start()
  stoppers.push(async () => {
    ending.abort()
    await looking
    await deliverer.stop()
    await publisher.stop()
    await evaluator.stop()
  })
  const { reads } = stores
  return {
    rules,
    silences: new SilenceStore(postgres),
    transitions: new TransitionStore(reads.postgres),
    windows: new WindowStore(reads.postgres),
    active: new ActiveStore(reads.postgres),
    channels: new ChannelStore(postgres),
    ...{ outbox, send, closing, ask, streamsOf },
  }
}

/** Reads events for messages, in the lane of rules and with the rights of their owners. */
function sampleReader(
  { search: deps, lanes }: Reading,
  rules: RuleStore,
  streamsOf: (rule: Rule) => Promise<readonly Stream[]>,
): DelivererParts['addSamples'] {
  return ({ ruleId, content }: DueMessage, signal: AbortSignal) => {
    const findStreams = async () => {
      const rule = await rules.find(ruleId)
      if (rule !== undefined) return await streamsOf(rule)
      throw new IngestError('not_found', 'the rule was deleted')
    }
    const searchInLane = (...[request, streams, ended]: Parameters<SampleDeps['search']>) => {
      const soon = AbortSignal.any([ended, AbortSignal.timeout(request.timeoutMs)])
      const task = { request, streams, includesStreamId: false }
      return lanes.alerts.run(ASKER, soon, () => search(deps, task, soon))
    }
    const reads = { search: searchInLane, nowMs: Date.now }
    return addSamples(reads, content, findStreams, signal)
  }
}

/** Looks for late events again and again, and forgets what is old, on the node that evaluates. */
function lookBack(
  { log }: Context,
  lock: WorkerLock,
  {
    closing,
    ...late
  }: Parameters<typeof lookAgain>[0] & {
    readonly closing: ClosingStore
    readonly decisions: DecisionStore
  },
  signal: AbortSignal,
): Promise<void> {
  return repeat({
    ...{ signal, everyMs: LOOK_BACK_MS },
    round: async () => {
      if (!lock.isHeld) return false
      const closed = await closing.read()
      if (closed !== undefined) await lookAgain(late, closed.closedMs, signal)
      await late.decisions.forgetBefore(ALERT_HISTORY_MS, FORGET_ROWS_MAX)
      return false
    },
    onError: (cause, failures) => {
      if (!isWorthLogging(failures)) return
      log.warn({ reason: reasonOf(cause) }, 'late events of alerts were not looked for; will retry')
    },
  })
}

function deliveryObserver({
  metrics,
  log,
}: Context): Pick<DelivererParts, 'onOutcome' | 'onError'> {
  const tries = metrics.tally(
    'ingest_alert_deliveries_total',
    'Tries to deliver a message of alerts, by what became of it',
    'outcome',
    ['delivered', 'retry', 'dead'],
  )
  return {
    onOutcome: (outcome) => tries.add(outcome),
    onError: (cause, failures) => {
      if (!isWorthLogging(failures)) return
      log.warn({ reason: reasonOf(cause) }, 'messages of alerts are not sent now; will retry')
    },
  }
}

/** With whether this node looked for due windows a moment ago. */
function evaluatorObserver(
  { metrics, log }: Context,
  lock: WorkerLock,
): EvaluatorObserver & { readonly isAlive: () => boolean } {
  metrics.gauge(
    'ingest_alerts_worker',
    'Whether this node is the one that evaluates rules of alerts',
    () => Number(lock.isHeld),
  )
  const windows = metrics.tally(
    'ingest_alert_windows_total',
    'Windows of rules that were decided, or given up (gap)',
    'outcome',
    ['clear', 'breach', 'no_data', 'gap'],
  )
  const late = metrics.histogram(
    'ingest_alert_decision_seconds',
    'From the end of a window of a rule to its decision',
  )
  const errors = metrics.counter(
    'ingest_alert_errors_total',
    'Tries to evaluate a rule that failed; its windows stay due',
  )
  let [lagMs, lookedMs] = [0, Number.NEGATIVE_INFINITY]
  metrics.gauge(
    'ingest_alert_lag_seconds',
    'How long the oldest window is over that waits for its decision',
    () => (lock.isHeld ? lagMs / 1_000 : 0),
  )
  return {
    isAlive: () => performance.now() - lookedMs < ALIVE_MS,
    onWorker: (isWorker) => {
      log.info({ isWorker }, isWorker ? 'this node evaluates alerts' : 'another node does')
    },
    onDecided: (outcome, lateMs) => {
      windows.add(outcome)
      if (outcome !== 'gap') late.observe(lateMs / 1_000)
    },
    onFailed: ({ ruleId, failures }, cause) => {
      errors.inc()
      if (!isWorthLogging(failures + 1)) return
      log.warn({ ruleId, reason: reasonOf(cause) }, 'a rule could not be evaluated; will retry')
    },
    onLag: (ms) => {
      lagMs = ms
      lookedMs = performance.now()
    },
    onFenced: (nodeIds) => {
      log.warn(
        { nodeIds },
        'nodes that are gone can commit nothing more: alerts go on without them',
      )
    },
    onError: (cause, failures) => {
      if (!isWorthLogging(failures)) return
      log.warn({ reason: reasonOf(cause) }, 'alerts cannot be evaluated now; will retry')
    },
  }
}

interface WatchAlertsParts {
  readonly store: Pick<AlertCountsStore, 'read' | 'readHeartbeats'>
  /** This node evaluates. */
  readonly isWorker: () => boolean
  /** It looked for due windows a moment ago. */
  readonly isAlive: () => boolean
}

const NOTHING: AlertCounts = {
  ...{ waiting: 0, dead: 0, oldestS: 0 },
  ...{ evaluating: 0, failing: 0, paused: 0 },
}

function watchAlerts(context: Context, parts: WatchAlertsParts): void {
  const ending = new AbortController()
  const counting = countAlerts(context, parts, ending.signal)
  const heartbeats = startHeartbeats(context, parts)
  context.stoppers.push(async () => {
    ending.abort()
    await heartbeats.stop()
    await counting
  })
}

function countAlerts(
  { metrics, log }: Context,
  { store, isWorker }: WatchAlertsParts,
  signal: AbortSignal,
): Promise<void> {
  let counts = NOTHING
  // What another node counts is not counted here, too.
  const now = () => (isWorker() ? counts : NOTHING)
  metrics.watch(
    'gauge',
    ['ingest_alert_rules', 'Rules of alerts, by whether they are evaluated'],
    ['state'],
    () => (['evaluating', 'failing', 'paused'] as const).map((state) => [{ state }, now()[state]]),
  )
  metrics.watch(
    'gauge',
    ['ingest_alert_messages', 'Messages of alerts that are not delivered'],
    ['state'],
    () => (['waiting', 'dead'] as const).map((state) => [{ state }, now()[state]]),
  )
  metrics.gauge(
    'ingest_alert_oldest_message_seconds',
    'Age of the oldest message of alerts that waits for its delivery',
    () => now().oldestS,
  )
  return repeat({
    ...{ signal, everyMs: COUNT_MS },
    round: async () => {
      if (isWorker()) counts = await store.read()
      return false
    },
    onError: (cause, failures) => {
      if (!isWorthLogging(failures)) return
      log.warn({ reason: reasonOf(cause) }, 'alerts could not be counted for metrics; will retry')
    },
  })
}

function startHeartbeats(
  { metrics, log }: Context,
  { store, isWorker, isAlive }: WatchAlertsParts,
): Heartbeats {
  const sent = metrics.tally(
    'ingest_alert_heartbeats_total',
    'Heartbeats of alerts, by what became of them',
    'outcome',
    ['sent', 'failed', 'held'],
  )
  const heartbeats = new Heartbeats({
    readDue: (lateMs) => store.readHeartbeats(lateMs),
    isAlive: () => isWorker() && isAlive(),
    post: (request, signal) => postWebhook(request, signal),
    onOutcome: (outcome) => sent.add(outcome),
    onError: (cause, failures) => {
      if (!isWorthLogging(failures)) return
      log.warn({ reason: reasonOf(cause) }, 'heartbeats are not sent now; will retry')
    },
  })
  heartbeats.start()
  return heartbeats
}
