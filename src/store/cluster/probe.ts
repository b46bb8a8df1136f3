/** Whether a server of a cluster is fit to be asked: more than that its port answers. */
import type { Probed } from '../clickhouse-hosts.ts'

/** `isMade`: the projection's database is on each server; else one has lost its disk. */
export interface ProbeOptions {
  readonly database: string
  readonly isMade: () => boolean
}

/**
 * How long a server must have had its session with Keeper before rows are read of it. One that was
 * cut off does not know what it lacks, and one that has just come back not yet.
 */
const SETTLED_S = 10

/** A session with Keeper, the database, its clock. Rejects where the server does not answer. */
export function clusterProbe({ database, isMade }: ProbeOptions) {
  return async (url: string, signal: AbortSignal): Promise<Probed> => {
    const { origin, username, password } = new URL(url)
    const [user, secret] = [username, password].map(decodeURIComponent)
    const answer = await fetch(`${origin}/?param_database=${database}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`,
      },
      body: `SELECT zookeeperSessionUptime(),
        (SELECT count() FROM system.databases WHERE name = {database:String}),
        toUnixTimestamp64Milli(now64(3))`,
      signal,
    })
    const text = await answer.text()
    const [uptimeS = -1, databases = 0, nowMs] = answer.ok ? text.split('\t').map(Number) : []
    const isMissing = isMade() && databases === 0
    return {
      isFit: uptimeS >= 0 && !isMissing,
      isBehind: uptimeS < SETTLED_S || isMissing,
      ...(nowMs !== undefined && { aheadMs: nowMs - Date.now() }),
    }
  }
}
