/**
 * What `--syslog` takes: URLs of listeners, separated by commas, such as
 * `udp://0.0.0.0:5514?stream=network&timezone=Europe/Berlin`. Messages name the fault, and hold
 * nothing of a URL but names of parameters.
 */
import { accessSync, constants } from 'node:fs'
import { NAME_CHARS_MAX, SYSLOG_LISTENERS_MAX } from './limits.ts'
import { isTimeZone } from './model/batch/syslog-part.ts'

export type SyslogTransport = 'udp' | 'tcp' | 'tls'

/** One listener. */
export interface SyslogAddress {
  readonly transport: SyslogTransport
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  /** Id or name of the stream that it belongs to. */
  readonly stream: string
  /** Of times that do not say theirs: a name of IANA's list. */
  readonly timeZone: string
  /** Undefined: those of the service. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  /** Who must have signed the certificates of clients; undefined: they need none. */
  readonly caFile: string | undefined
}

const FORM = 'udp://, tcp:// or tls://HOST:PORT?stream=NAME'
const PARAMETERS = ['stream', 'timezone', 'cert', 'key', 'ca'] as const

/** Throws an error that says what is wrong with the first wrong one. */
export function parseSyslogAddresses(text: string | readonly string[]): SyslogAddress[] {
  const urls = typeof text === 'string' ? text.split(',') : text
  const addresses = urls.map(parseOne)
  if (addresses.length > SYSLOG_LISTENERS_MAX) {
    throw new Error(`there may be ${SYSLOG_LISTENERS_MAX} listeners (SYSLOG_LISTENERS_MAX)`)
  }
  return addresses
}

function parseOne(text: string): SyslogAddress {
  if (!URL.canParse(text)) throw new Error(`each is ${FORM}`)
  const { protocol, hostname, port, pathname, hash, username, password, searchParams } = new URL(
    text,
  )
  const transport = protocol.slice(0, -1)
  if (transport !== 'udp' && transport !== 'tcp' && transport !== 'tls') {
    throw new Error('each begins with udp://, tcp:// or tls://')
  }
  if (username !== '' || password !== '') throw new Error('there is no user: who can send, may')
  if (hostname === '' || port === '' || hash !== '' || !['', '/'].includes(pathname)) {
    throw new Error(`each is ${FORM}`)
  }
  for (const name of searchParams.keys()) {
    if (!(PARAMETERS as readonly string[]).includes(name)) {
      throw new Error(`there is no parameter "${name}", but for ${PARAMETERS.join(', ')}`)
    }
    if (searchParams.getAll(name).length > 1) throw new Error(`"${name}" is there twice`)
  }
  const stream = searchParams.get('stream') ?? ''
  if (stream === '' || stream.length > NAME_CHARS_MAX) {
    throw new Error('each needs "stream", the id or the name of a stream')
  }
  const timeZone = searchParams.get('timezone') ?? 'UTC'
  if (!isTimeZone(timeZone)) throw new Error('"timezone" is no name such as Europe/Berlin')
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const files = filesOf(searchParams, transport)
  return { transport, host, port: Number(port), stream, timeZone, ...files }
}

function filesOf(
  given: URLSearchParams,
  transport: SyslogTransport,
): Pick<SyslogAddress, 'tls' | 'caFile'> {
  const [certFile, keyFile, caFile] = ['cert', 'key', 'ca'].map((name) => {
    const path = given.get(name) ?? undefined
    if (path === undefined) return undefined
    if (transport !== 'tls') throw new Error(`"${name}" is for tls:// only`)
    if (!isReadable(path)) throw new Error(`"${name}" is no file that can be read`)
    return path
  })
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new Error('"cert" and "key" go together')
  }
  const tls = certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile }
  return { tls, caFile }
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}
