import { callJson, loadAll } from '../base/api.ts'
import { type Loaded, useLoaded } from '../base/loaded.ts'
import type { Overview, Usage } from '../base/stream.ts'

const REFRESH_MS = 5_000
/** Of all streams there is more to read, and less to watch. */
const REFRESH_ALL_MS = 15_000

/** A stream's usage, asked for every few seconds while the tab is seen. */
export function useUsage(streamId: string): Loaded<Usage> {
  return useLoaded(streamId, (signal) => callJson<Usage>(`streams/${streamId}/usage`, { signal }), {
    refreshMs: REFRESH_MS,
  })
}

/** Of all streams that the token sees, by their ids: one request for a thousand of them. */
export function useOverviews(): Loaded<ReadonlyMap<string, Overview>> {
  return useLoaded('all', loadOverviews, { refreshMs: REFRESH_ALL_MS })
}

async function loadOverviews(signal: AbortSignal): Promise<ReadonlyMap<string, Overview>> {
  const all = await loadAll<Overview>('usage', 'usage', { signal })
  return new Map(all.map((one) => [one.stream_id, one]))
}
