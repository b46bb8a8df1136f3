/**
 * The address of a PostgreSQL as libpq writes it, of one server or of several:
 *
 *   postgres://user:password@db1:5432,db2/database?target_session_attrs=read-write
 *
 * The driver knows one server only. So a list is taken apart here, and the driver gets a URL with
 * the first of them. The parameters `host` and `port` may hold lists too, and win, as in libpq.
 */
import { StoreError } from './store-error.ts'

export interface PostgresServer {
  /** A name, an address, or the directory of a unix socket. */
  readonly host: string
  readonly port: number
}

/** What a server must be to be used; of libpq's values those that a writer can do with. */
export const SESSION_ATTRS = ['any', 'primary', 'read-write'] as const
export type SessionAttrs = (typeof SESSION_ATTRS)[number]

export interface PostgresUrl {
  /** For the driver: one server. Holds the password. */
  readonly url: string
  /** Of several, all. Empty where there is one: then the driver reads it from the URL. */
  readonly servers: readonly PostgresServer[]
  readonly sessionAttrs: SessionAttrs
  /** `connect_timeout`: of each server. */
  readonly connectMsMax: number | undefined
}

/** Servers that one URL may name. */
export const POSTGRES_SERVERS_MAX = 16
const PORT_DEFAULT = '5432'
const FORM = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#@]*)((?:[/?#].*)?)$/is
const OF_LIST = /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]*))(?::(\d*))?$/i
/** Ours: the driver does not know them. */
const OWN_PARAMETERS = ['target_session_attrs', 'connect_timeout', 'load_balance_hosts']

/** Throws `StoreError`, which never shows the URL: there is a password in it. */
export function parsePostgresUrl(url: string): PostgresUrl {
  if (/^[a-z][a-z0-9+.-]*:/i.test(url) && !/^postgres(?:ql)?:\/\//i.test(url)) {
    throw refused('must start with postgres://')
  }
  const [, scheme = '', user = '', list = '', rest = ''] = FORM.exec(url) ?? []
  const at = user === '' ? '' : `${user}@`
  const params = parse(`${scheme}${at}host${rest}`).searchParams
  const parameters = { sessionAttrs: attrsOf(params), connectMsMax: timeoutOf(params) }
  const isList = [list, params.get('host'), params.get('port')].some((text) => text?.includes(','))
  if (!isList) {
    const plain = parse(url)
    for (const name of OWN_PARAMETERS) plain.searchParams.delete(name)
    const isPlain = OWN_PARAMETERS.some((name) => params.has(name))
    const { sessionAttrs = 'any', connectMsMax } = parameters
    return { url: isPlain ? plain.href : url, servers: [], sessionAttrs, connectMsMax }
  }
  const servers = serversOf(list, params.get('host'), params.get('port'))
  const first = parse(`${scheme}${at}${hostText(servers[0]!)}${rest}`)
  for (const name of [...OWN_PARAMETERS, 'host', 'port']) first.searchParams.delete(name)
  const { sessionAttrs = 'read-write', connectMsMax } = parameters
  return { url: first.href, servers, sessionAttrs, connectMsMax }
}

/** A server as people write it. */
export function nameOfServer({ host, port }: PostgresServer): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The URL without its password and parameters; undefined where it may be that one shows. */
export function maskPostgresUrl(url: string): string | undefined {
  const [, scheme = '', user = '', list = '', rest = ''] = FORM.exec(url) ?? []
  const path = rest.replace(/[?#].*$/s, '')
  const areServers = list.split(',').every((text) => OF_LIST.test(text))
  // A password with a slash in it looks like a port and a path.
  if (scheme === '' || !areServers || path.includes('@')) return undefined
  const [name = '', ...password] = user.split(':')
  const shown = password.length === 0 ? name : `${name}:***`
  return `${scheme}${shown === '' ? '' : `${shown}@`}${list}${path}`
}

/** Node's error for a bad URL carries the URL, password included: it must not get out. */
function parse(url: string): URL {
  if (!URL.canParse(url)) throw refused('is not a valid URL')
  return new URL(url)
}

function attrsOf(params: URLSearchParams): SessionAttrs | undefined {
  const given = params.get('target_session_attrs')
  if (given === null) return undefined
  const attrs = SESSION_ATTRS.find((one) => one === given)
  if (attrs !== undefined) return attrs
  throw refused(`may ask for target_session_attrs=${SESSION_ATTRS.join(', ')}: Sluice writes`)
}

/** As in libpq 0 means no time of its own. */
function timeoutOf(params: URLSearchParams): number | undefined {
  const given = params.get('connect_timeout')
  if (given === null || given === '0') return undefined
  if (/^[1-9]\d{0,2}$/.test(given)) return Number(given) * 1_000
  throw refused('has a connect_timeout that is no number of seconds, 0 to 999')
}

function serversOf(
  list: string,
  hostList: string | null,
  portList: string | null,
): PostgresServer[] {
  const parts = list.split(',').map((text) => {
    const [, address, name = '', port = ''] = OF_LIST.exec(text) ?? []
    if (!OF_LIST.test(text)) throw refused('has a server that is not host:port')
    return { host: address ?? decoded(name), port }
  })
  const hosts = hostList?.split(',') ?? parts.map(({ host }) => host)
  const ports = portList?.split(',') ?? (hostList === null ? parts.map(({ port }) => port) : [''])
  if (hosts.length > POSTGRES_SERVERS_MAX) {
    throw refused(`names over ${POSTGRES_SERVERS_MAX} servers (POSTGRES_SERVERS_MAX)`)
  }
  if (ports.length !== 1 && ports.length !== hosts.length) {
    throw refused(`has ${hosts.length} hosts and ${ports.length} ports`)
  }
  return hosts.map((host, index) => {
    const port = Number((ports.length === 1 ? ports[0] : ports[index]) || PORT_DEFAULT)
    if (!(port >= 1 && port <= 65_535)) throw refused('has a port that is not 1 to 65535')
    return { host: host || 'localhost', port }
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused('is not a valid URL')
  }
}

function hostText({ host, port }: PostgresServer): string {
  return `${host.includes(':') ? `[${host}]` : encodeURIComponent(host)}:${port}`
}

function refused(reason: string): StoreError {
  return new StoreError('other', `the PostgreSQL URL ${reason}`)
}
