/**
 * The address of a ClickHouse: `http(s)://user:password@host:port/database`, or, for the embedded
 * one, a unix socket: `http+unix://user:password@<path, percent-encoded>/`.
 */
import { Agent } from 'node:http'
import { StoreError } from './store-error.ts'

const UNIX_PROTOCOL = 'http+unix:'

export interface ClickHouseAddress {
  /** The URL for the client. Its host means nothing where there is an agent. */
  readonly url: string
  /** Connects through the socket; has its own bound, as the client's does not apply to it. */
  readonly agent: Agent | undefined
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
  const { protocol, hostname, username, password } = new URL(url)
  if (protocol === 'http:' || protocol === 'https:')
    return { url, agent: undefined, socket: undefined }
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
    socket: { socketPath, user: user ?? '', password: pass ?? '' },
  }
}

export function unixClickHouseUrl(user: string, password: string, socketPath: string): string {
  return `${UNIX_PROTOCOL}//${user}:${password}@${encodeURIComponent(socketPath)}/`
}
