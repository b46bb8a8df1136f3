/** Messages that are about nothing new: a test, and what a rule told last. */
import { formatTimeMs, NO_TIME } from '../../model/rfc3339.ts'
import type { RuleSettings } from '../../store/alerts/rule.ts'
import type { Transition } from '../../store/alerts/transition-store.ts'
import { labelsOf } from '../messages/alert-labels.ts'
import type { AlertMessage, MessageAlert } from '../webhook-body.ts'

const WINDOW_MS = 5 * 60_000

export interface ExampleOf {
  readonly receiver: string
  readonly key: string
  readonly nowMs: number
}

/** It says that it is a test. */
export function testMessage({ receiver, key, nowMs }: ExampleOf): AlertMessage {
  const summary = `A test of the channel ${receiver}. Nothing is wrong.`
  const labels = { alertname: 'test', severity: 'info' }
  return {
    ...messageAbout({ receiver, key, nowMs }, [
      {
        ...{ status: 'firing', labels, annotations: { summary }, reason: 'test', detail: null },
        ...{ startsAt: formatTimeMs(nowMs), endsAt: NO_TIME, fingerprint: 'test' },
        ...{ generatorURL: '', value: null, threshold: null, condition: null },
        window: windowOf(nowMs - WINDOW_MS, nowMs),
        ...{ event_count: null, query: null, samples: [], samples_problem: null },
      },
    ]),
    reason: 'test',
  }
}

/** One of a group with values for all that templates name. */
export function exampleMessage(of: ExampleOf): AlertMessage {
  const { nowMs } = of
  const labels = { service: 'web', alertname: 'example', severity: 'warning' }
  const annotations = { summary: 'Many errors of a service' }
  return messageAbout(of, [
    {
      ...{ status: 'firing', labels, annotations, reason: 'new', detail: null },
      ...{ startsAt: formatTimeMs(nowMs), endsAt: NO_TIME, fingerprint: 'example' },
      ...{ generatorURL: '', value: 53, threshold: 20, condition: '>' },
      window: windowOf(nowMs - WINDOW_MS, nowMs),
      ...{ event_count: 53, query: null, samples_problem: null },
      samples: [{ id: '1', event: { level: 'error', message: 'an example of an event' } }],
    },
  ])
}

/** As it was, with the settings that the rule has now. */
export function pastMessage(
  of: ExampleOf,
  transition: Transition,
  settings: RuleSettings,
): AlertMessage {
  const { kind, ruleName, groupJson = '[]', fingerprint = '', fromMs, untilMs } = transition
  const isOver = kind === 'resolved' || kind === 'evaluation_restored'
  const reason = REASONS[kind] ?? 'new'
  const detail = transition.reason ?? null
  return {
    ...messageAbout({ ...of, nowMs: transition.decidedAtMs }, [
      {
        ...{ status: isOver ? 'resolved' : 'firing', reason, detail, fingerprint },
        labels: labelsOf(settings, ruleName, groupJson),
        annotations: settings.annotations,
        startsAt: formatTimeMs(isOver ? fromMs : untilMs),
        endsAt: isOver ? formatTimeMs(untilMs) : NO_TIME,
        ...{ generatorURL: '', query: null, samples: [], samples_problem: null },
        ...{ value: transition.value ?? null, event_count: transition.events ?? null },
        ...{ threshold: settings.condition.value, condition: settings.condition.op },
        window: { ...windowOf(fromMs, untilMs), time: settings.time_basis },
      },
    ]),
    ...{ reason, detail, groupKey: `{}:{rule="${transition.ruleId}"}` },
  }
}

const REASONS: Partial<Readonly<Record<Transition['kind'], AlertMessage['reason']>>> = {
  resolved: 'resolved',
  gap: 'gap',
  corrected: 'corrected',
  evaluation_failing: 'evaluation_failing',
  evaluation_restored: 'evaluation_restored',
}

function messageAbout(
  { receiver, key, nowMs }: ExampleOf,
  alerts: readonly [MessageAlert],
): AlertMessage {
  const [{ status, labels, annotations, reason, detail }] = alerts
  const { alertname, severity, ...groupLabels } = labels
  return {
    ...{ version: '4', groupKey: '{}:{rule="0"}', status, receiver, truncatedAlerts: 0 },
    ...{ reason, detail, groupLabels, externalURL: '', alerts },
    ...{ commonLabels: labels, commonAnnotations: annotations },
    sluice: {
      ...{ event_id: key, rule_id: '0', rule_version: 1, attempt: 1, as_of: null },
      evaluated_at: formatTimeMs(nowMs),
    },
  }
}

function windowOf(fromMs: number, untilMs: number): MessageAlert['window'] {
  return { from: formatTimeMs(fromMs), to: formatTimeMs(untilMs), time: 'ingested_at' }
}
