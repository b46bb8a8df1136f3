/** The lanes of reading and management, with their bounds. */
import {
  ALERT_QUERIES_MAX,
  ALERT_QUERY_WAIT_MS_MAX,
  INGEST_BUSY_SHARE,
  LANE_WAIT_MS_MAX,
  LANE_WAITING_MAX,
  LISTS_MAX,
  MANAGEMENT_MAX,
  QUERIES_BUSY_MAX,
  QUERIES_EMBEDDED_MAX,
  QUERIES_MAX,
  REVIEWS_MAX,
} from '../limits.ts'
import { Lane } from './lane.ts'

/** From this share on, a read of an embedded engine has one thread. */
export const INGEST_FULL_SHARE = 0.5

/** Lanes for reads of the projection, of the raw store and catalog, reviews, changes, alerts. */
export interface Lanes {
  readonly queries: Lane
  readonly lists: Lane
  readonly reviews: Lane
  readonly management: Lane
  /** Queries of rules. */
  readonly alerts: Lane
}

/** Whether ingest leaves a query no second thread. */
export function ingestNeedsAllCores(ingestLoad: number): boolean {
  return ingestLoad >= INGEST_FULL_SHARE
}

/** Whether ingest uses so much of the workers' time (`ingestLoad`) that queries have to yield. */
export function ingestIsBusy(ingestLoad: number): boolean {
  return ingestLoad >= INGEST_BUSY_SHARE
}

/**
 * Queries on the embedded engine share this machine with ingest. While ingest is busy, one query
 * runs at a time (docs/decisions/0039-lanes.md).
 */
export function createLanes(ingestLoad: () => number, isClickHouseEmbedded: boolean): Lanes {
  const bounds = { waitingMax: LANE_WAITING_MAX, waitMsMax: LANE_WAIT_MS_MAX }
  const shouldYieldToIngest = () => isClickHouseEmbedded && ingestIsBusy(ingestLoad())
  const idleMax = isClickHouseEmbedded ? QUERIES_EMBEDDED_MAX : QUERIES_MAX
  const places = () => (shouldYieldToIngest() ? QUERIES_BUSY_MAX : idleMax)
  return {
    queries: new Lane({ name: 'queries', places, ...bounds }),
    lists: new Lane({ name: 'lists', places: () => LISTS_MAX, ...bounds }),
    reviews: new Lane({ name: 'redaction reviews', places: () => REVIEWS_MAX, ...bounds }),
    alerts: new Lane({
      name: 'queries of alerts',
      places: () => (shouldYieldToIngest() ? QUERIES_BUSY_MAX : ALERT_QUERIES_MAX),
      ...bounds,
      // They are the evaluator's own, which asks for few at a time and has nobody who waits.
      waitMsMax: ALERT_QUERY_WAIT_MS_MAX,
    }),
    management: new Lane({
      name: 'requests of management',
      places: () => MANAGEMENT_MAX,
      ...bounds,
    }),
  }
}
