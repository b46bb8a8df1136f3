/**
 * The address of a ClickHouse: `http(s)://user:password@host:port/database`, or, for the embedded
 * one, a unix socket: `http+unix://user:password@<path, percent-encoded>/database`. Without a
 * database it is `sluice`.
 */
import { Agent } from 'node:http'
import { StoreError } from './store-error.ts'

const UNIX_PROTOCOL = 'http+unix:'
const DATABASE_DEFAULT = 'sluice'
/** It needs no quotes in SQL, whatever it is. */
const DATABASE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/

export interface ClickHouseAddress {
  /** The URL for the client. Its host means nothing where there is an agent. */
  readonly url: string
  /** Connects through the socket; has its own bound, as the client's does not apply to it. */
  readonly agent: Agent | undefined
  /** Where the projection's tables are. */
  readonly database: string
  /** Of the embedded one. */
  readonly socket: UnixSocket | undefined
}

export interface UnixSocket {
  readonly socketPath: string
  readonly user: string
  readonly password: string
}

/** Never shows the URL: there is a password in it. */
export function parseClickHouseUrl(url: string, connectionsMax: number): ClickHouseAddress {
  // Node's error for a bad URL carries the URL.
  if (!URL.canParse(url)) throw new StoreError('other', 'the ClickHouse URL is not a valid URL')
  const parsed = new URL(url)
  const { protocol, hostname, username, password } = parsed
  const database = parsed.pathname.slice(1) || DATABASE_DEFAULT
  if (!DATABASE_NAME.test(database)) {
    throw new StoreError('other', `the ClickHouse URL's database must match ${DATABASE_NAME}`)
  }
  if (protocol === 'http:' || protocol === 'https:') {
    // Our statements name the database; a session cannot begin in one that is not there yet.
    parsed.pathname = '/'
    return { url: parsed.href, agent: undefined, database, socket: undefined }
  }
  if (protocol !== UNIX_PROTOCOL) {
    throw new StoreError('other', 'the ClickHouse URL must start with http:// or https://')
  }
  // Node's types leave `socketPath` out: agents hand it to each request.
  const socketPath = decodeURIComponent(hostname)
  const options = { socketPath, keepAlive: true, maxSockets: connectionsMax }
  const [user, pass] = [username, password].map(decodeURIComponent)
  return {
    url: `http://${username}:${password}@localhost/`,
    agent: new Agent(options),
    database,
    socket: { socketPath, user: user ?? '', password: pass ?? '' },
  }
}

export function unixClickHouseUrl(user: string, password: string, socketPath: string): string {
  return `${UNIX_PROTOCOL}//${user}:${password}@${encodeURIComponent(socketPath)}/`
}
