/** What is counted of a run, and the thresholds every scenario shares. k6 only. */
import { Counter, Gauge, Rate, Trend } from 'k6/metrics'

export const metrics = {
  eventsAcknowledged: new Counter('events_acknowledged'),
  /** Events that an answer with 200 or 204 did not accept. */
  eventsRejected: new Counter('events_rejected'),
  /** Of acknowledged requests, as made: before compression. */
  bytesAcknowledged: new Counter('bytes_acknowledged'),
  ackMs: new Trend('ack_ms', true),
  refusalMs: new Trend('refusal_ms', true),
  /** Tagged with the status; 0 for no answer. */
  answers: new Counter('answers'),
  refused: new Rate('refused'),
  /** 429 and 503 that do not say when to come again. */
  refusedUncleanly: new Counter('refused_uncleanly'),
  /** Neither acknowledged nor refused: every other status, and no answer. */
  failed: new Counter('failed'),
  /** Milliseconds since the sending began: first and last are its minimum and maximum. */
  clock: new Gauge('clock_ms'),
  /** Acknowledged less stored: lost when positive, stored unasked when negative. */
  eventsMissing: new Counter('events_missing'),
  /** Stored less counted by queries, when they had their time. */
  eventsUnqueried: new Counter('events_missing_in_queries'),
  eventsCounted: new Gauge('events_counted'),
  catchUpSeconds: new Gauge('projection_seconds'),
  memoryMib: new Gauge('service_memory_mib'),
  memoryGrowthMib: new Gauge('service_memory_growth_mib'),
}

export const STATUSES = [
  200, 204, 400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 502, 503, 504, 0,
]

/** `parts` are the k6 scenarios whose figures the summary shows apart. */
export function sharedThresholds(options, parts) {
  const thresholds = {
    events_missing: ['count==0'],
    events_missing_in_queries: ['count==0'],
    events_rejected: ['count==0'],
    failed: ['count==0'],
    refused_uncleanly: ['count==0'],
    refused: [`rate<=${options.REFUSED_SHARE_MAX}`],
    ack_ms: [`p(99)<=${options.ACK_P99_MS_MAX}`],
    // k6's own rate also takes the time before and after the sending.
    events_acknowledged: [`count>=${options.EVENTS_PER_SECOND_MIN * options.DURATION}`],
  }
  // k6 keeps figures by tag only where a threshold asks for them. These always hold.
  for (const status of STATUSES) thresholds[`answers{status:${status}}`] = ['count>=0']
  for (const part of parts) {
    const tag = `{scenario:${part}}`
    thresholds[`events_acknowledged${tag}`] = ['count>=0']
    thresholds[`bytes_acknowledged${tag}`] = ['count>=0']
    thresholds[`ack_ms${tag}`] = ['max>=0']
    thresholds[`refused${tag}`] = ['rate>=0']
    thresholds[`clock_ms${tag}`] = ['value>=0']
  }
  return thresholds
}
