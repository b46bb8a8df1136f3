/** Builds what evaluates rules of alerts and writes down what becomes of them. */
import type { ExplainAlertDeps } from '../agents/explain-alert.ts'
import { Deliverer, type DelivererParts } from '../alerts/deliverer.ts'
import { Evaluator, type EvaluatorObserver } from '../alerts/evaluator.ts'
import { lookAgain } from '../alerts/late-look.ts'
import { postWebhook } from '../alerts/post-webhook.ts'
import { repeat } from '../alerts/repeat.ts'
import { streamsOfRule } from '../alerts/rule-streams.ts'
import { TransitionPublisher } from '../alerts/transition-publisher.ts'
import type { IngestEvents } from '../model/batch/agent-events.ts'
import { openStreamsBy } from '../read/open-streams.ts'
import type { ChannelRoutesDeps } from '../serve/alert-channels.ts'
import type { AlertParts as RuleParts } from '../serve/alerts.ts'
import { ChannelStore } from '../store/alerts/channel-store.ts'
import { ClosingStore } from '../store/alerts/closing-store.ts'
import { DecisionStore } from '../store/alerts/decision-store.ts'
import { OutboxStore } from '../store/alerts/outbox-store.ts'
import { readOwnerRights } from '../store/alerts/owner-rights.ts'
import type { Rule } from '../store/alerts/rule.ts'
import { RuleStore } from '../store/alerts/rule-store.ts'
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
export const ALERT_HISTORY_MS = 30 * 24 * 3_600_000
const LOOK_BACK_MS = 30_000
const FORGET_ROWS_MAX = 10_000
/** Who asks in the lane: no token has it. */
const ASKER = 0

type RouteParts = RuleParts & ChannelRoutesDeps['alerts'] & Pick<AgentParts, 'streamsOf'>
type AgentParts = ExplainAlertDeps['alerts']

interface AlertParts {
  readonly reading: Reading
  readonly control: ControlStore
  readonly ingest: IngestEvents
}

/** What rules and backtests ask with: in their lane, of streams as far as they are projected. */
export function alertReads(stores: Stores, { catalogs, lanes, runAggregate }: Reading) {
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
  const observer = evaluatorObserver(context, lock)
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
  const deliverer = new Deliverer({
    ...{ outbox, isWorker: () => lock.isHeld, post: postWebhook, nowMs: Date.now },
    ...deliveryObserver(context),
  })
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
    rules: new RuleStore(postgres),
    transitions: new TransitionStore(reads.postgres),
    windows: new WindowStore(reads.postgres),
    channels: new ChannelStore(postgres),
    outbox,
    ...{ closing, ask, streamsOf },
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
    onError: (cause) => {
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
    onError: (cause) => {
      log.warn({ reason: reasonOf(cause) }, 'messages of alerts are not sent now; will retry')
    },
  }
}

function evaluatorObserver({ metrics, log }: Context, lock: WorkerLock): EvaluatorObserver {
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
  let lagMs = 0
  metrics.gauge(
    'ingest_alert_lag_seconds',
    'How long the oldest window is over that waits for its decision',
    () => (lock.isHeld ? lagMs / 1_000 : 0),
  )
  return {
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
