/** Whether a server of a cluster is fit to be asked: more than that its port answers. */

/** `isMade`: the projection's database is on each server; else one has lost its disk. */
export interface ProbeOptions {
  readonly database: string
  readonly isMade: () => boolean
}

/** It answers, has a session with Keeper, and has the database. Rejects where it does not answer. */
export function clusterProbe({ database, isMade }: ProbeOptions) {
  return async (url: string, signal: AbortSignal): Promise<boolean> => {
    const { origin, username, password } = new URL(url)
    const [user, secret] = [username, password].map(decodeURIComponent)
    const answer = await fetch(`${origin}/?param_database=${database}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`,
      },
      body: `SELECT zookeeperSessionUptime() >= 0
        AND (SELECT count() FROM system.databases WHERE name = {database:String}) >= ${Number(isMade())}`,
      signal,
    })
    return answer.ok && (await answer.text()).trim() === '1'
  }
}
