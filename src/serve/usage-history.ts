/**
 * Usage by time: what each API key sent, and who was refused and why. The step follows from the
 * range, and from how finely the past is kept; the range is widened to whole steps, which the
 * answer tells. Of a stream for those who see it; of requests without a valid key for admins.
 */
import { nullable, type ObjectSchema, RFC3339, type Schema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import { AUTO_BUCKETS_MAX } from '../limits.ts'
import {
  HISTORY_KEYS_MAX,
  KEYS_KEPT,
  type Kept,
  NO_KEY,
  NO_STREAM,
  REFUSALS_KEPT,
} from '../model/batch/usage-counts.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { StreamId } from '../model/stream.ts'
import { findVisibleStream, type StreamFinder } from '../read/find-streams.ts'
import { readTimeRange } from '../read/read-request.ts'
import { READ_PROPERTIES } from '../read/schemas.ts'
import type { KeyRecord } from '../store/control/control-rows.ts'
import type { HistoryRange, UsageHistory } from '../store/raw/usage-history.ts'
import { formatTimeOrNull } from './keys.ts'

export interface UsageHistoryDeps extends Guard {
  readonly streams: StreamFinder & {
    listKeys(streamId: StreamId): Promise<readonly KeyRecord[]>
  }
  readonly usageHistory: UsageHistory
  readonly nowMs?: () => number
}

const MINUTE_MS = 60_000
const NS_PER_MINUTE = 60_000_000_000n
/** Each divides a day or is days, so that no step that is kept lies across two of them. */
const STEPS_MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 7_200, 14_400]

const range = (from: string) => ({
  from: { ...READ_PROPERTIES.from, default: from, description: 'As of a search' },
  to: READ_PROPERTIES.to,
})
const COUNTS = {
  requests: { type: 'integer' },
  events: { type: 'integer' },
  bytes: { type: 'integer' },
} as const satisfies Readonly<Record<string, Schema>>
const REFUSED_COUNTS = {
  ...COUNTS,
  events: nullable(
    { type: 'integer' },
    { description: 'Of requests whose events were counted before they were refused' },
  ),
  bytes: { type: 'integer', description: 'Of bodies, as they came or were announced' },
} as const
const KEY: Schema = nullable(
  {
    type: 'object',
    properties: {
      id: { type: 'string' },
      name: nullable({ type: 'string' }),
      prefix: nullable({ type: 'string' }),
      revoked_at: nullable(RFC3339),
    },
  },
  { description: 'Null: no key is known' },
)
const STEPS = {
  from: { ...RFC3339, description: 'The start of the first step' },
  to: { ...RFC3339, description: 'The end of the last' },
  bucket_ms: { type: 'integer', description: 'The length of a step' },
} as const satisfies Readonly<Record<string, Schema>>
const list = (properties: Readonly<Record<string, Schema>>): Schema => {
  return { type: 'array', items: { type: 'object', properties } }
}
const REFUSED: ObjectSchema = {
  type: 'object',
  properties: {
    ...STEPS,
    refused: list({
      key: KEY,
      reason: { type: 'string' },
      cause: { type: 'string', description: 'The limit, or what was wrong with the key' },
      ...REFUSED_COUNTS,
      last_at: RFC3339,
    }),
    over_time: list({ _bucket: RFC3339, reason: { type: 'string' }, ...REFUSED_COUNTS }),
  },
}
const SENT: ObjectSchema = {
  type: 'object',
  properties: {
    ...STEPS,
    keys: list({ key: KEY, ...COUNTS }),
    over_time: list({ _bucket: RFC3339, key_id: nullable({ type: 'string' }), ...COUNTS }),
  },
}

export function usageHistoryRoutes(deps: UsageHistoryDeps): Route[] {
  const nowMs = deps.nowMs ?? Date.now
  const shared = { method: 'GET', tag: 'Streams' } as const
  return [
    guardRoute(deps, {
      ...shared,
      pattern: '/v1/streams/:id/usage/keys',
      operationId: 'getKeyUsage',
      summary: 'What each API key sent, over time',
      scope: 'streams:read',
      query: { properties: range('-7d') },
      answers: { 200: jsonAnswer('By key, those that sent most first', SENT) },
      run: async ({ principal, params, query }) => {
        const { streamId } = await findVisibleStream(deps.streams, principal, params[0])
        const steps = planSteps({ from: '-7d', ...query }, KEYS_KEPT, nowMs())
        return answerJson(200, SENT, await sentJson(deps, streamId, steps))
      },
    }),
    guardRoute(deps, {
      ...shared,
      pattern: '/v1/streams/:id/refusals',
      operationId: 'getRefusals',
      summary: 'Who was refused, why and when',
      scope: 'streams:read',
      query: { properties: range('-24h') },
      answers: { 200: jsonAnswer('By key and reason, the newest first', REFUSED) },
      run: async ({ principal, params, query }) => {
        const { streamId } = await findVisibleStream(deps.streams, principal, params[0])
        const steps = planSteps({ from: '-24h', ...query }, REFUSALS_KEPT, nowMs())
        return answerJson(200, REFUSED, await refusedJson(deps, streamId, steps))
      },
    }),
    guardRoute(deps, {
      ...shared,
      pattern: '/v1/refusals',
      operationId: 'getStrangersRefusals',
      summary: 'Refused requests that no key of a stream is known of',
      scope: 'admin',
      query: { properties: range('-24h') },
      answers: { 200: jsonAnswer('By reason, the newest first', REFUSED) },
      run: async ({ query }) => {
        const steps = planSteps({ from: '-24h', ...query }, REFUSALS_KEPT, nowMs())
        return answerJson(200, REFUSED, await refusedJson(deps, NO_STREAM, steps))
      },
    }),
  ]
}

/** The range in whole steps. Throws `malformed`. */
function planSteps(query: Readonly<Record<string, unknown>>, kept: Kept, nowMs: number) {
  const asked = readTimeRange(query, nowMs)
  const now = Math.floor(nowMs / MINUTE_MS)
  const minuteOf = (ns: bigint) => Number(ns / NS_PER_MINUTE)
  const from = Math.max(minuteOf(asked.fromNs), now - kept.keptCoarse)
  const to = Math.max(from + 1, Math.min(minuteOf(asked.toNs - 1n), now) + 1)
  const least = from >= now - kept.keptFine ? kept.fine : kept.coarse
  const step =
    STEPS_MINUTES.find((each) => each >= least && (to - from) / each <= AUTO_BUCKETS_MAX) ??
    STEPS_MINUTES.at(-1)!
  return { from: from - (from % step), to: to + ((step - (to % step)) % step), step }
}

function stepsJson({ from, to, step }: HistoryRange) {
  return { from: timeOf(from), to: timeOf(to), bucket_ms: step * MINUTE_MS }
}

async function sentJson(deps: UsageHistoryDeps, streamId: StreamId, steps: HistoryRange) {
  const { usageHistory } = deps
  const [sent, keyOf] = await Promise.all([
    usageHistory.readSent(streamId, steps),
    keysOf(deps, streamId),
  ])
  const most = sent.slice(0, HISTORY_KEYS_MAX).map(({ keyId }) => keyId)
  const overTime = await usageHistory.readSentOverTime(streamId, steps, most)
  return {
    ...stepsJson(steps),
    keys: sent.map(({ keyId, ...counts }) => ({ key: keyOf(keyId), ...counts })),
    over_time: overTime.map(({ start, keyId, ...counts }) => {
      return { _bucket: timeOf(start), key_id: keyId === NO_KEY ? null : String(keyId), ...counts }
    }),
  }
}

async function refusedJson(deps: UsageHistoryDeps, streamId: StreamId, steps: HistoryRange) {
  const { usageHistory } = deps
  const [refused, overTime, keyOf] = await Promise.all([
    usageHistory.readRefused(steps, streamId),
    usageHistory.readRefusedOverTime(steps, streamId),
    keysOf(deps, streamId),
  ])
  return {
    ...stepsJson(steps),
    refused: refused.map(({ keyId, lastAtMs, ...rest }) => {
      return { key: keyOf(keyId), ...rest, last_at: formatTimeMs(lastAtMs) }
    }),
    over_time: overTime.map(({ start, ...counts }) => ({ _bucket: timeOf(start), ...counts })),
  }
}

/** A key by its id, as far as the stream still has it. */
async function keysOf({ streams }: UsageHistoryDeps, streamId: StreamId) {
  const keys = streamId === NO_STREAM ? [] : await streams.listKeys(streamId)
  const known = new Map(keys.map((key) => [key.keyId, key]))
  return (keyId: number) => {
    if (keyId <= NO_KEY) return null
    const key = known.get(keyId)
    return {
      id: String(keyId),
      name: key?.name ?? null,
      prefix: key?.prefix ?? null,
      revoked_at: formatTimeOrNull(key?.revokedAtMs ?? null),
    }
  }
}

function timeOf(minute: number): string {
  return formatTimeMs(minute * MINUTE_MS)
}
