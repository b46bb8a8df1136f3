/**
 * Lanes to the stores, each with clients and connections of its own, so that one kind of work
 * cannot take what another needs: `read` is what clients ask for, `write` brings events into the
 * stores, `control` keeps the service going (leases, credentials, checkpoints, retention, health).
 */
export const STORE_LANES = ['read', 'write', 'control'] as const
export type StoreLane = (typeof STORE_LANES)[number]

/** Tells the embedded ClickHouse a request's lane; an external server ignores it. */
export const LANE_HEADER = 'x-sluice-lane'

export function isStoreLane(text: unknown): text is StoreLane {
  return STORE_LANES.some((lane) => lane === text)
}
