/**
 * Configuration: one table of options, from which the parser, `--help` and docs/configuration.md
 * are all made. A flag beats its environment variable, which beats the default.
 */
import { availableParallelism } from 'node:os'
import { allowed, BYTES_MAX, type Option, whyNot } from './config-values.ts'
import { BODY_BYTES_MAX, IN_FLIGHT_BYTES_MAX } from './limits.ts'
import { splitHosts } from './store/clickhouse-hosts.ts'
import { redactUrl } from './store/redact-url.ts'
import { parseSyslogAddresses } from './syslog-address.ts'

/** Age of the oldest waiting block that triggers an insert. */
export const MATERIALIZE_DELAY_MS_MAX = 2_000

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface Config {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** Undefined: OTLP over gRPC is not listened for. */
  readonly otlpGrpcPort: number | undefined
  /** URLs of listeners, which `parseSyslogAddresses` reads; undefined: none. */
  readonly syslog: readonly string[] | undefined
  readonly dataDir: string
  /** Undefined: the embedded server. */
  readonly postgresUrl: string | undefined
  /** Undefined: the embedded engine. */
  readonly clickhouseUrl: string | undefined
  /** The projection is on the shards and replicas of this cluster; undefined: on one server. */
  readonly clickhouseCluster: string | undefined
  /** How many replicas must have stored an insert, of those that a shard has. */
  readonly clickhouseReplicasMin: number
  /** Of the projection's tables; undefined: the server's default. */
  readonly clickhouseStoragePolicy: string | undefined
  /** Age in days from which the projection is moved to that policy's last volume. */
  readonly clickhouseColdDays: number | undefined
  /** Whether a ClickHouse may be taken that is empty though the projection was in another. */
  readonly rebuildProjection: boolean
  /** Where people reach the console, without a slash at its end; undefined: nobody knows. */
  readonly publicUrl: string | undefined
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly workers: number
  readonly logLevel: LogLevel
  readonly inFlightBytesMax: number
  /** Undefined: no cap on the instance. */
  readonly storageBytesMax: number | undefined
  /** Of streams without budgets of their own; undefined: none. */
  readonly rateBudget: number | undefined
  readonly byteBudget: number | undefined
  /** Whether a key of Splunk HEC may be in the URL. */
  readonly hecQueryToken: boolean
  /** Whose pages may send events: origins, or `*` alone; undefined: none. */
  readonly corsOrigins: readonly string[] | undefined
  readonly drainTimeoutMs: number
  readonly materializeDelayMs: number
  /** To be logged at start: settings that have no effect. */
  readonly warnings: readonly string[]
}

export type ParsedArguments =
  | { readonly kind: 'run'; readonly config: Config }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }

/** A setting that cannot be used. The message is for the operator; `main.ts` exits with 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const TIMER_MS_MAX = 2 ** 31 - 1 // A longer timer would fire at once.

/** Every option, in the order people read them. */
export const OPTIONS = {
  host: {
    flag: '--host',
    env: 'SLUICE_HOST',
    kind: 'text',
    default: '127.0.0.1',
    sentence: 'Address to listen on; 0.0.0.0 listens on every IPv4 address of the machine.',
  },
  port: {
    flag: '--port',
    env: 'SLUICE_PORT',
    kind: 'integer',
    min: 0,
    max: 65_535,
    default: '4800',
    sentence: 'Port to listen on; 0 takes any free one and prints it.',
  },
  otlpGrpcPort: {
    flag: '--otlp-grpc-port',
    env: 'SLUICE_OTLP_GRPC_PORT',
    kind: 'integer',
    min: 0,
    max: 65_535,
    default: 'none: only OTLP over HTTP',
    sentence: 'Port for OTLP logs over gRPC, usually 4317; 0 takes any free one and prints it.',
  },
  syslog: {
    flag: '--syslog',
    env: 'SLUICE_SYSLOG',
    kind: 'listeners',
    default: 'none',
    sentence:
      'Listeners for syslog over UDP, TCP and TLS, each of a stream, which is made at the start ' +
      'when there is none of its name; may be given several times.',
  },
  dataDir: {
    flag: '--data',
    env: 'SLUICE_DATA',
    kind: 'path',
    default: './data',
    sentence: 'Directory of the embedded stores and of the first admin token.',
  },
  postgresUrl: {
    flag: '--postgres-url',
    env: 'SLUICE_POSTGRES_URL',
    kind: 'postgres',
    default: 'embedded',
    sentence:
      'PostgreSQL to use instead of the embedded one; it may name several servers and which ' +
      'of them to use: `postgres://u@db1,db2/sluice?target_session_attrs=read-write`.',
  },
  clickhouseUrl: {
    flag: '--clickhouse-url',
    env: 'SLUICE_CLICKHOUSE_URL',
    kind: 'url',
    protocols: ['http:', 'https:'],
    default: 'embedded',
    sentence:
      "ClickHouse server's HTTP interface to use instead of the embedded engine; its path is the " +
      'database for the projection, `sluice` without one. It may name several servers of a ' +
      'cluster: `http://user@ch1:8123,ch2:8123/`.',
  },
  clickhouseCluster: {
    flag: '--clickhouse-cluster',
    env: 'SLUICE_CLICKHOUSE_CLUSTER',
    kind: 'name',
    default: 'none: one server',
    sentence:
      "Cluster of ClickHouse's `remote_servers` whose shards and replicas hold the projection.",
  },
  clickhouseReplicasMin: {
    flag: '--clickhouse-replicas-min',
    env: 'SLUICE_CLICKHOUSE_REPLICAS_MIN',
    kind: 'integer',
    min: 1,
    max: 9,
    default: '1',
    sentence:
      "Replicas of a cluster's shard that must store what is inserted; those that answer " +
      'always do.',
  },
  clickhouseStoragePolicy: {
    flag: '--clickhouse-storage-policy',
    env: 'SLUICE_CLICKHOUSE_STORAGE_POLICY',
    kind: 'name',
    default: "none: the server's own",
    sentence:
      "Storage policy of the projection's tables on a ClickHouse server; it must have a volume " +
      'called `default`.',
  },
  clickhouseColdDays: {
    flag: '--clickhouse-cold-days',
    env: 'SLUICE_CLICKHOUSE_COLD_DAYS',
    kind: 'integer',
    min: 1,
    max: 36_500,
    unit: 'days',
    default: 'none: nothing is moved',
    sentence: "Age at which a day of the projection moves to the storage policy's last volume.",
  },
  rebuildProjection: {
    flag: '--rebuild-projection',
    env: 'SLUICE_REBUILD_PROJECTION',
    kind: 'choice',
    choices: ['false', 'true'],
    default: 'false',
    sentence:
      'Whether to build the projection anew in a ClickHouse that is empty and not the known one.',
  },
  tlsCert: {
    flag: '--tls-cert',
    env: 'SLUICE_TLS_CERT',
    kind: 'file',
    default: 'none: plain HTTP',
    sentence: 'PEM file of the certificate chain to serve HTTPS with; needs --tls-key too.',
  },
  tlsKey: {
    flag: '--tls-key',
    env: 'SLUICE_TLS_KEY',
    kind: 'file',
    default: 'none',
    sentence: "PEM file of the certificate's private key.",
  },
  publicUrl: {
    flag: '--public-url',
    env: 'SLUICE_PUBLIC_URL',
    kind: 'url',
    protocols: ['http:', 'https:'],
    default: 'none: messages of alerts have no links',
    sentence: 'Where people reach the service; links in messages of alerts lead to its console.',
  },
  workers: {
    flag: '--workers',
    env: 'SLUICE_WORKERS',
    kind: 'integer',
    min: 1,
    max: 256,
    default: 'one less than the processors, at least 1',
    sentence: 'Threads that decode and transform events.',
  },
  logLevel: {
    flag: '--log-level',
    env: 'SLUICE_LOG_LEVEL',
    kind: 'choice',
    choices: LOG_LEVELS,
    default: 'info',
    sentence: "Least severe of Sluice's own log lines to write to stderr.",
  },
  inFlightBytesMax: {
    flag: '--in-flight-bytes-max',
    env: 'SLUICE_IN_FLIGHT_BYTES_MAX',
    kind: 'integer',
    min: 2 * BODY_BYTES_MAX,
    max: BYTES_MAX,
    unit: 'bytes',
    default: String(IN_FLIGHT_BYTES_MAX),
    sentence: 'Bytes received and not yet acknowledged, past which requests are refused with 429.',
  },
  storageBytesMax: {
    flag: '--storage-max-bytes',
    env: 'SLUICE_STORAGE_MAX_BYTES',
    kind: 'integer',
    min: 1,
    max: BYTES_MAX,
    unit: 'bytes',
    default: 'none',
    sentence: 'Stored bytes of all streams together, past which ingest is refused with 429.',
  },
  rateBudget: {
    flag: '--rate-budget',
    env: 'SLUICE_RATE_BUDGET',
    kind: 'integer',
    min: 1,
    max: BYTES_MAX,
    unit: 'events',
    default: 'none',
    sentence: 'Events a second that a stream without a rate_budget of its own may send.',
  },
  byteBudget: {
    flag: '--byte-budget',
    env: 'SLUICE_BYTE_BUDGET',
    kind: 'integer',
    min: 1,
    max: BYTES_MAX,
    unit: 'bytes',
    default: 'none',
    sentence: 'Bytes a second that a stream without a byte_budget of its own may send.',
  },
  hecQueryToken: {
    flag: '--hec-query-token',
    env: 'SLUICE_HEC_QUERY_TOKEN',
    kind: 'choice',
    choices: ['false', 'true'],
    default: 'false',
    sentence:
      'Whether Splunk HEC takes its key as `?token=` too; URLs, and the key with them, get into ' +
      'the access logs of proxies.',
  },
  corsOrigins: {
    flag: '--cors-origin',
    env: 'SLUICE_CORS_ORIGIN',
    kind: 'origins',
    default: 'none',
    sentence:
      'Origins whose pages may send events from browsers (CORS, on the ingest paths only), ' +
      'separated by commas; `*` for all.',
  },
  drainTimeoutMs: {
    flag: '--drain-timeout-ms',
    env: 'SLUICE_DRAIN_TIMEOUT_MS',
    kind: 'integer',
    min: 0,
    max: TIMER_MS_MAX,
    unit: 'milliseconds',
    default: '30000',
    sentence: 'How long a stopping service waits for requests it has already begun.',
  },
  materializeDelayMs: {
    flag: '--materialize-delay-ms',
    env: 'SLUICE_MATERIALIZE_DELAY_MS',
    kind: 'integer',
    min: 0,
    max: 600_000,
    unit: 'milliseconds',
    default: String(MATERIALIZE_DELAY_MS_MAX),
    sentence: 'How long events may wait for company before they are sent on to ClickHouse.',
  },
} as const satisfies Record<string, Option>

type OptionName = keyof typeof OPTIONS
type Settings = ReadonlyMap<OptionName, string>

export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[]
const ENV_PREFIX = 'SLUICE_'

/** `argv` without the program's name. Throws `ConfigError`. */
export function parseConfig(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ParsedArguments {
  const flags = parseFlags(argv)
  if (flags === 'help' || flags === 'version') return { kind: flags }
  const settings = new Map<OptionName, string>()
  for (const name of OPTION_NAMES) {
    // An empty variable counts as unset: compose files and unit files make those.
    const value = flags.get(name) ?? (env[OPTIONS[name].env] || undefined)
    if (value === undefined) continue
    checkSetting(OPTIONS[name], value)
    settings.set(name, value)
  }
  return { kind: 'run', config: configOf(settings, unknownVariables(env)) }
}

/**
 * By hand, as `parseArgs` of `node:util` makes it no shorter: its messages quote arguments, which
 * may hold passwords, so each of its errors would have to be caught and said again here.
 */
function parseFlags(argv: readonly string[]): Settings | 'help' | 'version' {
  const flags = new Map<OptionName, string>()
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? ''
    if (argument === '--help' || argument === '-h') return 'help'
    if (argument === '--version') return 'version'
    const equals = argument.indexOf('=')
    const flag = equals < 0 ? argument : argument.slice(0, equals)
    const name = OPTION_NAMES.find((candidate) => OPTIONS[candidate].flag === flag)
    if (name === undefined) throw new ConfigError(unknownOption(flag))
    const value = equals < 0 ? argv[++index] : argument.slice(equals + 1)
    if (value === undefined || value === '' || (equals < 0 && value.startsWith('--'))) {
      throw new ConfigError(`${flag} needs a value: ${allowed(OPTIONS[name])}`)
    }
    const before = OPTIONS[name].kind === 'listeners' ? flags.get(name) : undefined
    flags.set(name, before === undefined ? value : `${before},${value}`)
  }
  return flags
}

function unknownOption(flag: string): string {
  const shown = flag.includes('://') ? redactUrl(flag) : `"${flag}"`
  const what = flag.startsWith('-') ? `unknown option ${flag}` : `unexpected argument ${shown}`
  return `${what}; the options are ${OPTION_NAMES.map((name) => OPTIONS[name].flag).join(', ')}`
}

function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set<string>(OPTION_NAMES.map((name) => OPTIONS[name].env))
  return Object.keys(env)
    .filter((name) => name.startsWith(ENV_PREFIX) && !known.has(name))
    .sort()
    .map((name) => `the environment variable ${name} is not one Sluice knows and has no effect`)
}

function checkSetting(option: Option, value: string): void {
  const why = whyNot(option, value)
  if (why === undefined) return
  const isUrl = ['url', 'postgres', 'listeners'].includes(option.kind)
  const given = isUrl ? redactUrl(value) : `"${value}"`
  const names = `${option.flag} (${option.env})`
  throw new ConfigError(`${names} is ${given}; it must be ${allowed(option)}${why}`)
}

function configOf(settings: Settings, warnings: readonly string[]): Config {
  const text = (name: OptionName) => settings.get(name) ?? OPTIONS[name].default
  const integer = (name: OptionName) => Number(text(name))
  const cores = availableParallelism()
  const optional = (name: OptionName) => (settings.has(name) ? integer(name) : undefined)
  return {
    host: text('host'),
    port: integer('port'),
    otlpGrpcPort: optional('otlpGrpcPort'),
    syslog: syslogOf(settings),
    dataDir: text('dataDir'),
    postgresUrl: settings.get('postgresUrl'),
    ...clusterOf(settings),
    clickhouseReplicasMin: integer('clickhouseReplicasMin'),
    clickhouseStoragePolicy: settings.get('clickhouseStoragePolicy'),
    clickhouseColdDays: optional('clickhouseColdDays'),
    rebuildProjection: text('rebuildProjection') === 'true',
    publicUrl: publicUrlOf(settings.get('publicUrl')),
    tls: tlsOf(settings.get('tlsCert'), settings.get('tlsKey')),
    workers: settings.has('workers') ? integer('workers') : Math.max(1, cores - 1),
    logLevel: text('logLevel') as LogLevel, // checkSetting has seen it.
    inFlightBytesMax: integer('inFlightBytesMax'),
    storageBytesMax: optional('storageBytesMax'),
    rateBudget: optional('rateBudget'),
    byteBudget: optional('byteBudget'),
    hecQueryToken: text('hecQueryToken') === 'true',
    corsOrigins: settings.get('corsOrigins')?.split(','),
    drainTimeoutMs: integer('drainTimeoutMs'),
    materializeDelayMs: integer('materializeDelayMs'),
    warnings,
  }
}

function clusterOf(settings: Settings): Pick<Config, 'clickhouseUrl' | 'clickhouseCluster'> {
  const clickhouseUrl = settings.get('clickhouseUrl')
  const clickhouseCluster = settings.get('clickhouseCluster')
  const [url, cluster] = [OPTIONS.clickhouseUrl.flag, OPTIONS.clickhouseCluster.flag]
  if (clickhouseCluster !== undefined && clickhouseUrl === undefined) {
    throw new ConfigError(`${cluster} needs ${url}: the embedded engine is one server`)
  }
  if (clickhouseCluster === undefined && clickhouseUrl && splitHosts(clickhouseUrl).length > 1) {
    throw new ConfigError(`${url} names several servers, which needs ${cluster}`)
  }
  const { clickhouseStoragePolicy: policy, clickhouseColdDays: days } = OPTIONS
  if (settings.has('clickhouseStoragePolicy') && clickhouseUrl === undefined) {
    throw new ConfigError(`${policy.flag} needs ${url}: the embedded engine has one disk`)
  }
  if (settings.has('clickhouseColdDays') && !settings.has('clickhouseStoragePolicy')) {
    throw new ConfigError(`${days.flag} needs ${policy.flag}`)
  }
  return { clickhouseUrl, clickhouseCluster }
}

function syslogOf(settings: Settings): Config['syslog'] {
  const text = settings.get('syslog')
  if (text === undefined) return undefined
  const needsFiles = parseSyslogAddresses(text).some(({ transport, tls }) => {
    return transport === 'tls' && tls === undefined
  })
  if (needsFiles && !settings.has('tlsCert')) {
    const { flag } = OPTIONS.syslog
    throw new ConfigError(`${flag} with tls:// needs --tls-cert and --tls-key, or ?cert=…&key=…`)
  }
  return text.split(',')
}

/** Links are put together with it, and sent to others. */
function publicUrlOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const { flag } = OPTIONS.publicUrl
  if (!URL.canParse(text)) throw new ConfigError(`${flag} must be one URL`)
  const { origin, pathname, search, hash, username } = new URL(text)
  if (username !== '') throw new ConfigError(`${flag} must not hold a user: it is sent to others`)
  if (search !== '' || hash !== '') throw new ConfigError(`${flag} must end with its path`)
  return `${origin}${pathname.replace(/\/+$/, '')}`
}

function tlsOf(certFile: string | undefined, keyFile: string | undefined): Config['tls'] {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined || keyFile === undefined) {
    const given = certFile === undefined ? OPTIONS.tlsKey.flag : OPTIONS.tlsCert.flag
    throw new ConfigError(`only ${given} is given; --tls-cert and --tls-key go together`)
  }
  return { certFile, keyFile }
}
