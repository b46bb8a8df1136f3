/**
 * Every migration, oldest first. A released migration is never changed: add another. So the paths
 * in their comments are where files were at the time.
 */
import { sql as schema } from './0001-schema.ts'
import { sql as lostHistory } from './0002-lost-history.ts'
import { sql as nodeShards } from './0003-node-shards.ts'
import { sql as takeovers } from './0004-takeovers.ts'
import { sql as tokenStreams } from './0005-token-streams.ts'
import { sql as sessions } from './0006-sessions.ts'
import { sql as usageHistory } from './0007-usage-history.ts'
import { sql as alerts } from './0008-alerts.ts'
import { sql as alertMessages } from './0009-alert-messages.ts'
import { sql as channelKinds } from './0010-channel-kinds.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'schema', sql: schema },
  { version: 2, name: 'lost-history', sql: lostHistory },
  { version: 3, name: 'node-shards', sql: nodeShards },
  { version: 4, name: 'takeovers', sql: takeovers },
  { version: 5, name: 'token-streams', sql: tokenStreams },
  { version: 6, name: 'sessions', sql: sessions },
  { version: 7, name: 'usage-history', sql: usageHistory },
  { version: 8, name: 'alerts', sql: alerts },
  { version: 9, name: 'alert-messages', sql: alertMessages },
  { version: 10, name: 'channel-kinds', sql: channelKinds },
]
