/**
 * Hours of three services' logs, among them a stretch in which payments fail because of one thing
 * that was told once. Each failed payment has a trace, which all three streams know.
 */

import { ok } from 'node:assert/strict'
import { type Api, NDJSON_TYPE } from '../../support/api.ts'

export const REASON = 'certificate of bank-gw expired'
/** Of the stream `shop`. */
export const SHOP_EVENTS = 6_001
const REQUESTS = SHOP_EVENTS - 1
const HOURS_MS = 3.5 * 3_600_000
/** The stretch in which it fails, as shares of the time. */
const [BAD_FROM, BAD_TO] = [0.5, 0.58]

export interface Incident {
  /** When the first payment failed. */
  readonly startMs: number
  readonly shop: string
  readonly edge: string
  readonly bank: string
}

/** Makes the streams, sends all events, and waits until those of `shop` are counted. */
export async function sendIncident(api: Api): Promise<Incident> {
  const startMs = Date.now() - HOURS_MS - 60_000
  const ids: string[] = []
  for (const [name, lines] of Object.entries(eventsOf(startMs))) {
    const { id, key } = await api.createStream({ name })
    const answer = await api.ingest(key, `${lines.join('\n')}\n`, { 'content-type': NDJSON_TYPE })
    ok(answer.status === 200, answer.text)
    await api.untilCounted(id, lines.length)
    ids.push(id)
  }
  const [shop, edge, bank] = ids as [string, string, string]
  return { startMs: startMs + FIRST_SHARE * HOURS_MS, shop, edge, bank }
}

const isBad = (n: number) => n / REQUESTS > BAD_FROM && n / REQUESTS < BAD_TO && n % 2 === 0
/** Other errors, but none in the quarter of an hour before it and after it. */
const isNoise = (n: number) => n % 200 === 0 && (n < 0.43 * REQUESTS || n > 0.65 * REQUESTS)
const FIRST_SHARE = Array.from({ length: REQUESTS }, (_, n) => n).find(isBad)! / REQUESTS

function eventsOf(startMs: number): Readonly<Record<string, readonly string[]>> {
  const lines = { shop: [] as string[], edge: [] as string[], bank: [] as string[] }
  const put = (to: keyof typeof lines, share: number, event: object) => {
    const timestamp = new Date(startMs + share * HOURS_MS).toISOString()
    lines[to].push(JSON.stringify({ timestamp, ...event }))
  }
  put('shop', BAD_FROM + 0.01, {
    level: 'fatal',
    service: 'payments',
    message: 'cannot connect to the bank',
    cause: { reason: REASON, since_s: 4 },
  })
  for (let n = 0; n < REQUESTS; n++) {
    const share = n / REQUESTS
    const service = isBad(n) ? 'payments' : ['cart', 'search', 'payments', 'auth'][n % 4]
    const status = isBad(n) ? 502 : 200
    const trace_id = `${n.toString(16).padStart(8, '0')}${'5'.repeat(24)}`
    put('shop', share, {
      level: isBad(n) || isNoise(n) ? 'error' : 'info',
      service,
      status,
      duration_ms: isBad(n) ? 2_000 + (n % 7) : 12 + (n % 40),
      trace_id,
      message: isBad(n) ? 'card refused' : `request ${n} was served`,
    })
    if (n % 10 !== 0 && !isBad(n)) continue
    put('edge', share, {
      level: isBad(n) ? 'warn' : 'info',
      status,
      trace_id,
      message: 'POST /pay',
    })
    if (!isBad(n)) continue
    // Names of its own for the same.
    put('bank', share, { severity: 'ERROR', traceId: trace_id, message: 'handshake failed' })
  }
  return lines
}
