/** An evaluator over a list of events and rules in memory, round by round. */
import assert from 'node:assert/strict'
import { Evaluator } from '../../src/alerts/evaluator.ts'
import { CountedEvents, KeptDecisions, STREAM } from './counted-events.ts'

export const MINUTE_MS = 60_000
export const START_MS = Date.parse('2026-05-05T05:05:00Z')

/** Over rules and events in memory. */
export function setUp() {
  const ask = new CountedEvents()
  const decisions = new KeptDecisions(START_MS)
  const closing = { closedMs: Number.NaN, wantedMs: 0, isLost: false, fenced: [] as number[] }
  const failed: string[] = []
  const rights = { fault: undefined as Error | undefined }
  const evaluator = new Evaluator({
    lock: { tryHold: async () => true, stop: async () => undefined },
    decisions,
    closing: {
      want: async (ms) => void (closing.wantedMs = ms),
      read: async () => {
        if (closing.isLost) return undefined
        const { nowMs } = decisions
        const closedMs = Number.isNaN(closing.closedMs) ? nowMs : closing.closedMs
        return { closedMs, nodeId: 7, nowMs }
      },
    },
    fenceGone: async () => closing.fenced.splice(0),
    streamsOf: async () => {
      if (rights.fault !== undefined) throw rights.fault
      return [STREAM]
    },
    ask,
    observer: {
      onWorker: () => undefined,
      onDecided: () => undefined,
      onFailed: ({ name }, cause) => failed.push(`${name}: ${(cause as Error).message}`),
      onLag: () => undefined,
      onFenced: () => undefined,
      onError: (cause) => assert.fail(cause as Error),
    },
  })
  /** Rounds until nothing more is decided. */
  const settle = async (nowMs: number) => {
    decisions.nowMs = nowMs
    for (let round = 0; round < 3; round++) await evaluator.round()
  }
  return { ask, decisions, closing, failed, rights, settle }
}
