/** Changes times of leases in `src/limits.ts` as it is loaded. The service knows nothing of it. */
import type { LoadHook } from 'node:module'

export const HASTY_MS: Readonly<Record<string, number>> = {
  NODE_LEASE_MS: 1_500,
  NODE_LEASE_RENEW_MS: 500,
  NODE_GONE_MS: 2_000,
  TAKE_OVER_POLL_MS: 300,
  INSERT_ARRIVAL_MS_MAX: 1_000,
}

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context)
  if (!url.endsWith('/dist/src/limits.js')) return loaded
  let source = String(loaded.source)
  for (const [name, ms] of Object.entries(HASTY_MS)) {
    const changed = source.replace(new RegExp(`(export const ${name} = )[\\d_]+;`), `$1${ms};`)
    if (changed === source) throw new Error(`src/limits.ts has no ${name}`)
    source = changed
  }
  return { ...loaded, source }
}
