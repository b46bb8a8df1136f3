/** How often a channel is told of a rule, and how much goes into one message. */
import {
  ALERT_GROUP_INTERVAL_MS,
  ALERT_GROUP_WAIT_MS,
  ALERT_GROUPS_MAX,
  ALERT_MESSAGE_ALERTS_MAX,
  ALERT_REPEAT_MS_MIN,
} from '../../limits.ts'
import { tryParseDuration } from '../../model/duration.ts'
import type { RuleSettings } from '../../store/alerts/rule.ts'

export interface DeliveryTerms {
  /** How long the first alert waits for others. */
  readonly waitMs: number
  /** Between messages about groups. */
  readonly intervalMs: number
  /** After a delivery, until it is told again that a group fires; undefined: never. */
  readonly repeatMs: number | undefined
  /** What falls due within this time goes along with what is told now. */
  readonly alongMs: number
  /** Alerts of a message in full. */
  readonly alertsMax: number
  /** Whether events go along. */
  readonly hasSamples: boolean
}

/** Alertmanager takes an alert for over that it has not heard of for some minutes. */
const ALERTMANAGER_REPEAT_MS = 60_000

/** By the rule's `repeat` and the kind of the channel. */
export function deliveryTerms(
  repeat: RuleSettings['repeat'],
  channelKind: string | undefined,
): DeliveryTerms {
  if (channelKind === 'alertmanager') {
    return {
      ...{ waitMs: 0, intervalMs: 0 },
      ...{ repeatMs: ALERTMANAGER_REPEAT_MS, alongMs: ALERTMANAGER_REPEAT_MS },
      // It groups by itself, and must hear of all that fires.
      ...{ alertsMax: 2 * ALERT_GROUPS_MAX, hasSamples: false },
    }
  }
  const askedMs = tryParseDuration(repeat)
  const repeatMs = askedMs === undefined ? undefined : Math.max(ALERT_REPEAT_MS_MIN, askedMs)
  const intervalMs = Math.min(ALERT_GROUP_INTERVAL_MS, repeatMs ?? ALERT_GROUP_INTERVAL_MS)
  return {
    ...{ waitMs: ALERT_GROUP_WAIT_MS, intervalMs, repeatMs, alongMs: intervalMs },
    ...{ alertsMax: ALERT_MESSAGE_ALERTS_MAX, hasSamples: true },
  }
}
