/**
 * What a webhook gets, and what other kinds of channels are written from: a superset of what
 * Alertmanager sends (version 4), so that whatever takes that takes this. One message is about
 * groups of a rule, or about the rule as a whole.
 */
import { createHmac } from 'node:crypto'
import type { DueMessage } from '../store/alerts/outbox-store.ts'

/** Why an alert is told, or the message as a whole. */
export type MessageReason =
  | 'new'
  | 'repeat'
  | 'resolved'
  | 'corrected'
  | 'gap'
  | 'evaluation_failing'
  | 'evaluation_restored'
  | 'test'

/** One event that an alert is about; `event` is null when it is too large to be sent along. */
export interface AlertSample {
  readonly id: string
  readonly event: unknown
}

/** One group of a rule, or the rule as a whole: then its fingerprint is empty. */
export interface MessageAlert {
  readonly status: 'firing' | 'resolved'
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly startsAt: string
  /** The year 1 while it fires. */
  readonly endsAt: string
  /** Of the group, among those of its rule. */
  readonly fingerprint: string
  /** Shows just these events in the console; empty where nobody knows its address. */
  readonly generatorURL: string
  readonly reason: MessageReason
  /** Why, where the reason does not say it. */
  readonly detail: string | null
  readonly value: number | null
  readonly threshold: number | null
  readonly condition: string | null
  readonly window: { readonly from: string; readonly to: string; readonly time: string | null }
  readonly event_count: number | null
  /** Finds just these events. */
  readonly query: string | null
  /** The newest of them, of what fires. */
  readonly samples: readonly AlertSample[]
  /** Why there are none, when they could not be read. */
  readonly samples_problem: string | null
}

/** A message, for whatever renders it. */
export interface AlertMessage {
  readonly version: '4'
  readonly groupKey: string
  readonly status: 'firing' | 'resolved'
  readonly receiver: string
  /** Alerts that the message is about and that are not in `alerts`. */
  readonly truncatedAlerts: number
  /** Of its alerts the one that matters most: `new`, then `resolved`, then `repeat`. */
  readonly reason: MessageReason
  readonly detail: string | null
  readonly groupLabels: Readonly<Record<string, string>>
  readonly commonLabels: Readonly<Record<string, string>>
  readonly commonAnnotations: Readonly<Record<string, string>>
  /** The console's address, or empty. */
  readonly externalURL: string
  /** At least one. */
  readonly alerts: readonly MessageAlert[]
  readonly sluice: {
    /** Also the Idempotency-Key. */
    readonly event_id: string
    readonly rule_id: string
    readonly rule_version: number
    readonly evaluated_at: string
    /** All windows of the rule that end up to here were decided. */
    readonly as_of: string | null
    /** The first try is 1; all else is the same in each. */
    readonly attempt: number
  }
}

/** What is posted in this try: as it was written, with the number of the try at its end. */
export function webhookBody({
  content,
  attempts,
}: Pick<DueMessage, 'content' | 'attempts'>): string {
  return `${content.slice(0, -2)},"attempt":${attempts + 1}}}`
}

/** The same for whatever renders it; numbers in samples may lose digits. */
export function messageOf(body: string): AlertMessage {
  return JSON.parse(body) as AlertMessage
}

/** `Sluice-Signature`: HMAC-SHA-256 of the time and the body, so that none is sent again later. */
export function signatureOf(secret: string, seconds: number, body: string): string {
  const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${digest}`
}
