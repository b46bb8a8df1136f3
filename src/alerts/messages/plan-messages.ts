/**
 * What to tell a channel of a rule now, and when to look again.
 *
 * Of each group the newest that waits is told; of what fires and is told already, that it still
 * does once `repeat` is over. What a silence holds back goes on waiting. A group that is over is
 * told so only if the channel heard that it fires, or hears it now: then from when to when.
 */
import { mainTurns } from '../../api/main-turns.ts'
import { ALERT_MESSAGE_GROUPS_MAX } from '../../limits.ts'
import { tryParseDuration } from '../../model/duration.ts'
import type {
  FiringGroup,
  Notice,
  QueueFacts,
  WaitingGroup,
} from '../../store/alerts/queue-facts.ts'
import type { NewMessage, QueuePlan } from '../../store/alerts/queue-store.ts'
import type { Rule, RuleSettings } from '../../store/alerts/rule.ts'
import { labelsOf } from './alert-labels.ts'
import { type DeliveryTerms, deliveryTerms } from './delivery-terms.ts'
import { SilenceMatching } from './silence-match.ts'
import { type ToldAlert, writeMessage } from './write-message.ts'

export interface PlanOptions {
  /** What is known of the rule's groups is of now, or nothing better will be known soon. */
  readonly isCurrent: boolean
  /** Where people reach the service; undefined: nobody knows. */
  readonly publicUrl: string | undefined
}

/** A rule whose windows are being made up for is looked at again after this. */
export const NOT_CURRENT_MS = 30_000
/** Whether a channel is there by now is looked at after this, while something fires. */
export const NO_CHANNEL_MS = 300_000

/** Groups that are looked at in one turn of the main thread. */
const TURN_GROUPS = 100

/** Something to tell of a group. */
interface Candidate {
  readonly alert: ToldAlert
  readonly fingerprint: string
  readonly dueMs: number
  /** Of what waits; undefined: it is told though nothing happened. */
  readonly noticeId: number | undefined
  readonly transitionId: number
  readonly firedMs: number
}

const WEIGHTS = { new: 0, resolved: 1, repeat: 2 }
type GroupReason = keyof typeof WEIGHTS

export async function planMessages(facts: QueueFacts, options: PlanOptions): Promise<QueuePlan> {
  const terms = deliveryTerms(facts.rule?.settings.repeat ?? '0s', facts.channelKind)
  const ofRule = planRule(facts, terms, options)
  const none = { messages: [], dropped: [], held: [], isHeld: false, nextAtMs: undefined }
  const ofGroups = facts.isBusy.groups ? none : await planGroups(facts, terms, options)
  const times = [ofRule.nextAtMs, ofGroups.nextAtMs].filter((ms) => ms !== undefined)
  return {
    ...ofGroups,
    messages: [...ofRule.messages, ...ofGroups.messages],
    nextAtMs: times.length === 0 ? undefined : Math.min(...times),
  }
}

type Part = Pick<QueuePlan, 'messages' | 'nextAtMs'>

/** What is about the rule as a whole goes at once; no silence holds back that nobody looks. */
function planRule(facts: QueueFacts, terms: DeliveryTerms, options: PlanOptions): Part {
  const { nowMs, rule, told, ofRule } = facts
  if (facts.isBusy.rule) return { messages: [], nextAtMs: undefined }
  const [first] = ofRule
  if (first !== undefined) {
    const other = ofRule.findIndex(({ kind }) => kind !== first.kind)
    const run = other < 0 ? ofRule : ofRule.slice(0, other)
    const message = {
      ...{ isGrouped: false, reason: first.kind, alertCount: run.length, more: [] },
      isFinal: !terms.hasSamples || first.kind !== 'corrected',
      ...{ transitionId: first.transitionId, lastNoticeId: run.at(-1)!.noticeId, fingerprints: [] },
      write: (key: string) =>
        writeMessage(key, {
          ...{ facts, terms, publicUrl: options.publicUrl, about: aboutOf(first.kind) },
          alerts: run.map((notice) => alertOfRule(facts, notice)),
        }),
    }
    return { messages: [message], nextAtMs: undefined }
  }
  const known = told.get('')
  if (rule?.isTold !== true || known === undefined || !isTelling(facts, rule)) {
    return { messages: [], nextAtMs: undefined }
  }
  if (terms.repeatMs === undefined) return { messages: [], nextAtMs: undefined }
  const dueMs = afterPause(facts, known.atMs + terms.repeatMs)
  if (dueMs > nowMs) return { messages: [], nextAtMs: dueMs }
  return { messages: [failingStill(facts, rule, terms, options)], nextAtMs: undefined }
}

/** That a rule still cannot be evaluated. */
function failingStill(
  facts: QueueFacts,
  rule: Rule,
  terms: DeliveryTerms,
  { publicUrl }: PlanOptions,
): NewMessage {
  const { transitionId, firedMs } = facts.told.get('')!
  const alert: ToldAlert = {
    // The same as it was told first, so that who keeps alerts takes it for the same.
    ...{ reason: 'evaluation_failing', isOver: false, settings: rule.settings, fingerprint: '' },
    ...{ groupJson: '[]', detail: rule.problem, startsMs: firedMs, endsMs: undefined },
    ...{ value: undefined, events: undefined, decidedAtMs: facts.nowMs },
    ...{ fromMs: rule.cursorMs, untilMs: facts.nowMs },
  }
  return {
    ...{ isGrouped: false, reason: alert.reason, alertCount: 1, transitionId, lastNoticeId: 0 },
    ...{ fingerprints: [], isFinal: true },
    more: [{ fingerprint: undefined, kind: 'repeat', transitionId, firedMs }],
    write: (key) =>
      writeMessage(key, { facts, terms, publicUrl, about: 'evaluation', alerts: [alert] }),
  }
}

async function planGroups(
  facts: QueueFacts,
  terms: DeliveryTerms,
  options: PlanOptions,
): Promise<QueuePlan> {
  const { nowMs, groupedAtMs, ofGroups, rule, told } = facts
  const hold = holding(facts)
  const dropped: string[] = []
  const held: string[] = []
  const found: Candidate[] = []
  const times: number[] = []
  let isHeld = false
  for (const [index, group] of ofGroups.entries()) {
    if (index % TURN_GROUPS === TURN_GROUPS - 1) await mainTurns.next()
    const knows = told.get(group.fingerprint)?.isDelivered === true
    const isOver = group.kind === 'resolved'
    if (isOver && !knows && (group.wasHeld || group.firedMs === undefined)) {
      dropped.push(group.fingerprint)
      continue
    }
    const candidate = ofWaiting(facts, terms, group)
    const untilMs = await hold(candidate)
    if (untilMs === undefined) found.push(candidate)
    else {
      held.push(group.fingerprint)
      times.push(untilMs)
    }
  }
  const waiting = new Set(ofGroups.map(({ fingerprint }) => fingerprint))
  const isTold = rule !== undefined && isTelling(facts, rule)
  const still = isTold ? facts.firing.filter(({ fingerprint }) => !waiting.has(fingerprint)) : []
  if (still.length > 0 && !options.isCurrent) times.push(nowMs + NOT_CURRENT_MS)
  for (const [index, group] of (options.isCurrent ? still : []).entries()) {
    if (index % TURN_GROUPS === TURN_GROUPS - 1) await mainTurns.next()
    const candidate = ofFiring(facts, terms, rule!, group)
    if (candidate === undefined) continue
    const { dueMs } = candidate
    const untilMs = dueMs <= nowMs + terms.alongMs ? await hold(candidate) : undefined
    isHeld ||= untilMs !== undefined
    if (untilMs === undefined) found.push(candidate)
    else times.push(Math.max(dueMs, untilMs))
  }
  const startMs = Math.min(...found.map(({ dueMs }) => dueMs))
  const gateMs = groupedAtMs === undefined ? 0 : groupedAtMs + terms.intervalMs
  const dueMs = Math.max(startMs, gateMs)
  const rest = { dropped, held, isHeld: isHeld || held.length > 0 }
  if (dueMs > nowMs) {
    times.push(dueMs)
    const soonest = Math.min(...times)
    return { ...rest, messages: [], nextAtMs: Number.isFinite(soonest) ? soonest : undefined }
  }
  const some = found.filter(({ noticeId, dueMs: due }) => {
    return noticeId !== undefined || due <= nowMs + terms.alongMs
  })
  // Its end is when the queue is looked at again.
  return { ...rest, messages: [messageOf(facts, terms, options, some)], nextAtMs: undefined }
}

function messageOf(
  facts: QueueFacts,
  terms: DeliveryTerms,
  { publicUrl }: PlanOptions,
  found: readonly Candidate[],
): NewMessage {
  const weight = ({ alert }: Candidate) => WEIGHTS[alert.reason as GroupReason]
  const sorted = found.toSorted((a, b) => weight(a) - weight(b)).slice(0, ALERT_MESSAGE_GROUPS_MAX)
  const first = sorted[0]!
  const happened = sorted.filter(({ noticeId }) => noticeId !== undefined)
  return {
    ...{ isGrouped: true, isFinal: !terms.hasSamples },
    reason: first.alert.reason,
    alertCount: sorted.length,
    transitionId: first.transitionId,
    lastNoticeId: happened.reduce((last, { noticeId }) => Math.max(last, noticeId!), 0),
    fingerprints: happened.map(({ fingerprint }) => fingerprint),
    more: sorted
      .filter(({ noticeId }) => noticeId === undefined)
      .map(({ alert, fingerprint, transitionId, firedMs }) => {
        const kind = alert.reason === 'repeat' ? 'repeat' : 'firing'
        return { fingerprint, kind, transitionId, firedMs }
      }),
    write: (key) => {
      const alerts = sorted.map(({ alert }) => alert)
      return writeMessage(key, { facts, terms, publicUrl, about: undefined, alerts })
    },
  }
}

/** Until when an alert is held back; for ever, until somebody looks again; undefined: it is not. */
function holding({ holding: { silences, acknowledged }, ruleName }: QueueFacts) {
  const matching = new SilenceMatching(silences)
  return async ({ alert, fingerprint }: Candidate): Promise<number | undefined> => {
    if (!alert.isOver && acknowledged.has(fingerprint)) return Number.POSITIVE_INFINITY
    if (silences.length === 0) return undefined
    const found = await matching.of(labelsOf(alert.settings, ruleName, alert.groupJson))
    return found.length === 0 ? undefined : Math.max(...found.map(({ untilMs }) => untilMs))
  }
}

/** Whether the channel is one of the rule's, which is at work. */
function isTelling({ channel }: QueueFacts, { settings }: Rule): boolean {
  return !settings.paused && settings.channels.includes(channel)
}

/** Nothing is repeated to a channel that is not there: it would only be one more dead message. */
function afterPause(facts: QueueFacts, dueMs: number): number {
  const { channelKind, nowMs } = facts
  return channelKind === undefined ? Math.max(dueMs, nowMs + NO_CHANNEL_MS) : dueMs
}

function ofWaiting(facts: QueueFacts, terms: DeliveryTerms, group: WaitingGroup): Candidate {
  const { fingerprint, noticeId, transitionId, groupJson, untilMs } = group
  const known = facts.told.get(fingerprint)
  const isOver = group.kind === 'resolved'
  const toldMs = known?.isDelivered === true ? known.firedMs : undefined
  const firedMs = isOver ? (toldMs ?? group.firedMs ?? group.fromMs) : untilMs
  return {
    ...{ fingerprint, noticeId, transitionId, firedMs },
    dueMs: group.wasHeld ? facts.nowMs : group.sinceMs + terms.waitMs,
    alert: {
      ...{ reason: isOver ? 'resolved' : 'new', isOver, fingerprint, groupJson },
      ...{ settings: settingsOf(facts, group), detail: group.reason },
      ...{ startsMs: firedMs, endsMs: isOver ? untilMs : undefined },
      ...{ value: group.value, events: group.events, decidedAtMs: group.decidedAtMs },
      ...{ fromMs: group.fromMs, untilMs },
    },
  }
}

/** Undefined: it is never told again. */
function ofFiring(
  facts: QueueFacts,
  { repeatMs }: DeliveryTerms,
  { settings, cursorMs }: Rule,
  { fingerprint, groupJson, firedMs, value }: FiringGroup,
): Candidate | undefined {
  const { nowMs } = facts
  const known = facts.told.get(fingerprint)
  if (known !== undefined && repeatMs === undefined) return undefined
  const windowMs = tryParseDuration(settings.window) ?? 0
  return {
    ...{ fingerprint, firedMs, noticeId: undefined, transitionId: known?.transitionId ?? 0 },
    // The channel is new to the rule, or came to know nothing of it in another way.
    dueMs: afterPause(facts, known === undefined ? nowMs : known.atMs + repeatMs!),
    alert: {
      ...{ reason: known?.isDelivered === true ? 'repeat' : 'new', isOver: false, fingerprint },
      ...{ groupJson, settings, detail: undefined, startsMs: firedMs, endsMs: undefined },
      ...{ value, events: undefined, decidedAtMs: nowMs },
      ...{ fromMs: cursorMs - windowMs, untilMs: cursorMs },
    },
  }
}

function alertOfRule(facts: QueueFacts, notice: Notice): ToldAlert {
  const { fromMs, untilMs, value, events, decidedAtMs } = notice
  const isOver = notice.kind === 'evaluation_restored'
  return {
    ...{ reason: notice.kind as ToldAlert['reason'], isOver, fingerprint: '', groupJson: '[]' },
    ...{ settings: settingsOf(facts, notice), detail: notice.reason },
    ...{ startsMs: isOver ? fromMs : untilMs, endsMs: isOver ? untilMs : undefined },
    ...{ value, events, decidedAtMs, fromMs, untilMs },
  }
}

/** Of the rule as it was then. */
function settingsOf({ versions, rule }: QueueFacts, notice: Notice): RuleSettings | undefined {
  return versions.get(notice.ruleVersion) ?? rule?.settings
}

function aboutOf(kind: string): string {
  return kind.startsWith('evaluation_') ? 'evaluation' : kind
}
