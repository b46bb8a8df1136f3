/**
 * Goal: settings come from the right place, and a wrong one is refused with a message that says
 * what was given and what is allowed, without showing a password.
 * Method: literal command lines. The last test keeps docs/configuration.md equal to the table;
 * `UPDATE_DOCS=1 npm test -- config` writes it.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Config, ConfigError, OPTIONS, parseConfig } from '../src/config.ts'
import { helpText } from '../src/config-help.ts'
import { allowed, type Option } from '../src/config-values.ts'
import { SYSLOG_LISTENERS_MAX } from '../src/limits.ts'
import { redactUrl } from '../src/store/redact-url.ts'
import { parseSyslogAddresses } from '../src/syslog-address.ts'

function configOf(argv: string[], env: Record<string, string> = {}): Config {
  const parsed = parseConfig(argv, env)
  assert(parsed.kind === 'run')
  return parsed.config
}

test('everything has a default', () => {
  const { workers, ...config } = configOf([])
  assert(workers >= 1)
  assert.deepEqual(config, {
    host: '127.0.0.1',
    port: 4800,
    otlpGrpcPort: undefined,
    syslog: undefined,
    dataDir: './data',
    postgresUrl: undefined,
    clickhouseUrl: undefined,
    clickhouseCluster: undefined,
    clickhouseReplicasMin: 1,
    clickhouseStoragePolicy: undefined,
    clickhouseColdDays: undefined,
    rebuildProjection: false,
    publicUrl: undefined,
    tls: undefined,
    logLevel: 'info',
    inFlightBytesMax: 32 * 1024 * 1024,
    storageBytesMax: undefined,
    rateBudget: undefined,
    byteBudget: undefined,
    hecQueryToken: false,
    corsOrigins: undefined,
    drainTimeoutMs: 30_000,
    materializeDelayMs: 2_000,
    warnings: [],
  })
})

test('a flag beats its variable, which beats the default', () => {
  const env = { SLUICE_PORT: '5', SLUICE_HOST: '::1' }
  assert.equal(configOf(['--port', '6'], env).port, 6)
  assert.equal(configOf(['--port=7'], env).port, 7)
  assert.equal(configOf([], env).port, 5)
  assert.equal(configOf([], env).host, '::1')
})

test('an empty variable counts as unset', () => {
  assert.equal(configOf([], { SLUICE_PORT: '' }).port, 4800)
})

test('the public URL has no slash at its end', () => {
  assert.equal(configOf(['--public-url', 'https://h:8/a/']).publicUrl, 'https://h:8/a')
  assert.equal(configOf(['--public-url', 'https://h']).publicUrl, 'https://h')
})

test('a value may hold an equals sign', () => {
  const url = 'postgres://u@h/d?sslmode=require'
  assert.equal(configOf([`--postgres-url=${url}`]).postgresUrl, url)
})

test('every option is read from its flag and from its variable', () => {
  const file = import.meta.filename
  const values: Record<keyof typeof OPTIONS, string> = {
    host: 'h',
    port: '1',
    otlpGrpcPort: '4',
    syslog: 'udp://[::1]:514?stream=a,tcp://h:601/?stream=7&timezone=Europe/Berlin',
    dataDir: 'd',
    postgresUrl: 'postgres://h/d',
    clickhouseUrl: 'http://h:8123',
    clickhouseCluster: 'c',
    clickhouseReplicasMin: '2',
    clickhouseStoragePolicy: 'p',
    clickhouseColdDays: '30',
    rebuildProjection: 'true',
    publicUrl: 'https://logs.test/sluice',
    tlsCert: file,
    tlsKey: file,
    workers: '3',
    logLevel: 'debug',
    inFlightBytesMax: '30000000',
    storageBytesMax: '5',
    rateBudget: '6',
    byteBudget: '7',
    hecQueryToken: 'true',
    corsOrigins: 'https://a.example,http://localhost:3000',
    drainTimeoutMs: '9',
    materializeDelayMs: '8',
  }
  const names = Object.keys(OPTIONS) as (keyof typeof OPTIONS)[]
  const fromFlags = configOf(names.flatMap((name) => [OPTIONS[name].flag, values[name]]))
  const env = Object.fromEntries(names.map((name) => [OPTIONS[name].env, values[name]]))
  assert.deepEqual(fromFlags, configOf([], env))
  const { tls, warnings, ...rest } = fromFlags
  assert.deepEqual(tls, { certFile: file, keyFile: file })
  assert.deepEqual(warnings, [])
  for (const [name, value] of Object.entries(rest)) {
    assert.equal(String(value), values[name as keyof typeof OPTIONS])
  }
})

test('help and version win over what else is given', () => {
  assert.deepEqual(parseConfig(['--help', '--nonsense'], {}), { kind: 'help' })
  assert.deepEqual(parseConfig(['--port', '1', '--version'], {}), { kind: 'version' })
})

const WRONG = [
  [['--prot', '1'], {}, /unknown option --prot; the options are --host, --port/],
  [['--prot=secret'], {}, /^unknown option --prot;/],
  [['start'], {}, /unexpected argument "start"/],
  [['postgres://u:hush@h/d'], {}, /unexpected argument postgres:\/\/u:\*\*\*@h\/d;/],
  [['--port'], {}, /--port needs a value: a whole number, 0 to 65535/],
  [['--port', '--host', 'x'], {}, /--port needs a value/],
  [['--port='], {}, /--port needs a value/],
  [['--port', '65536'], {}, /--port \(SLUICE_PORT\) is "65536"; it must be .* 0 to 65535/],
  [[], { SLUICE_PORT: '1e3' }, /\(SLUICE_PORT\) is "1e3"/],
  [['--workers', '0'], {}, /"0"; it must be a whole number, 1 to 256/],
  [['--log-level', 'loud'], {}, /"loud"; it must be one of trace, debug, info/],
  [['--in-flight-bytes-max', '5'], {}, /a whole number of bytes, 20971520 or more/],
  [['--postgres-url', 'mysql://u:hush@h/d'], {}, /mysql:\/\/u:\*\*\*@h\/d; .*postgres:\/\//],
  [['--postgres-url', 'postgres://u:hush@a:1,b:x/d'], {}, /is not a URL \(not shown/],
  [
    ['--postgres-url', 'postgres://u:hush@a,b/d?port=1,2,3'],
    {},
    /u:\*\*\*@a,b\/d; .*2 hosts and 3/,
  ],
  [
    ['--postgres-url', 'postgres://u:hush@a/d?target_session_attrs=standby'],
    {},
    /target_session_attrs=any, primary, read-write: Sluice writes/,
  ],
  [['--clickhouse-url', 'hush'], {}, /is not a URL \(not shown/],
  [['--public-url', 'https://u:hush@h/'], {}, /must not hold a user/],
  [['--public-url', 'https://h/?x=1'], {}, /must end with its path/],
  [['--public-url', 'https://a:1,b:2/'], {}, /must be one URL/],
  [['--public-url', 'ftp://h/'], {}, /starts with http:\/\/ or https:\/\//],
  [['--tls-cert', '/nonexistent'], {}, /--tls-cert .*"\/nonexistent"; .*a file that can be read/],
  [['--tls-cert', import.meta.filename], {}, /only --tls-cert is given.*go together/],
  [['--cors-origin', 'https://a.example/'], {}, /"https:\/\/a.example\/"; .*origins such as/],
  [['--cors-origin', 'https://a.example,*'], {}, /origins such as https:\/\/app.example.com/],
  [['--syslog', 'http://h:1?stream=a'], {}, /each begins with udp:\/\/, tcp:\/\/ or tls:\/\//],
  [['--syslog', 'udp://u:hush@h:1?stream=a'], {}, /udp:\/\/u:\*\*\*@h:1; .*no user/],
  [['--syslog', 'udp://h?stream=a'], {}, /HOST:PORT\?stream=NAME/],
  [['--syslog', 'udp://h:1'], {}, /needs "stream", the id or the name/],
  [['--syslog', 'udp://h:1?stream=a&tz=x'], {}, /no parameter "tz", but for stream, timezone/],
  [['--syslog', 'udp://h:1?stream=a&timezone=Mars'], {}, /"timezone" is no name such as/],
  [['--syslog', 'udp://h:1?stream=a&ca=/x'], {}, /"ca" is for tls:\/\/ only/],
  [['--syslog', 'tls://h:1?stream=a&ca=/nonexistent'], {}, /"ca" is no file that can be read/],
  [['--syslog', 'tls://h:1?stream=a'], {}, /needs --tls-cert and --tls-key, or \?cert=…&key=…/],
  [
    ['--syslog', `tls://h:1?stream=a&cert=${import.meta.filename}`],
    {},
    /"cert" and "key" go together/,
  ],
  [
    Array.from({ length: SYSLOG_LISTENERS_MAX + 1 }, (_, n) => `--syslog=udp://h:${n}?stream=a`),
    {},
    /there may be 16 listeners \(SYSLOG_LISTENERS_MAX\)/,
  ],
  [[], { SLUICE_TLS_KEY: import.meta.filename }, /only --tls-key is given/],
] as const

for (const [argv, env, message] of WRONG) {
  const shown = [...argv, ...Object.keys(env)].join(' ').replace(import.meta.dirname, '')
  test(`refused: ${shown}`, () => {
    assert.throws(
      () => parseConfig(argv, env),
      (error) => {
        assert(error instanceof ConfigError)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /hush|secret/)
        return true
      },
    )
  })
}

test('listeners of syslog may be given again and again', () => {
  const url = 'udp://0.0.0.0:5514?stream=network'
  const other = 'tls://[::]:6514?stream=12'
  const file = import.meta.filename
  const certificate = [`--tls-cert=${file}`, `--tls-key=${file}`]
  const config = configOf(['--syslog', url, `--syslog=${other}&ca=${file}`, ...certificate])
  assert.deepEqual(config.syslog, [url, `${other}&ca=${file}`])
  assert.deepEqual(parseSyslogAddresses(config.syslog!)[1], {
    transport: 'tls',
    host: '::',
    port: 6514,
    stream: '12',
    timeZone: 'UTC',
    tls: undefined,
    caFile: file,
  })
  assert.deepEqual(configOf([], { SLUICE_SYSLOG: url }).syslog, [url])
})

test('an unknown SLUICE_ variable is warned about', () => {
  const { warnings } = configOf([], { SLUICE_PROT: '1', OTHER: '2' })
  assert.deepEqual(warnings.length, 1)
  assert.match(warnings[0] ?? '', /SLUICE_PROT is not one Sluice knows/)
})

test('URLs are shown without passwords', () => {
  assert.equal(redactUrl('postgres://u:p@h:5/d?password=p'), 'postgres://u:***@h:5/d')
  assert.equal(redactUrl('postgres://u:p@a:5,[::1]/d?password=p'), 'postgres://u:***@a:5,[::1]/d')
  assert.match(redactUrl('postgres://u:12/34@h/d'), /not shown/)
  assert.match(redactUrl('postgres://u:pa/ss@h/d'), /not shown/)
  assert.equal(redactUrl('http://h/'), 'http://h/')
})

test('help names every option, variable and default, in short lines', () => {
  const help = helpText()
  for (const option of Object.values(OPTIONS)) {
    assert(help.includes(`\n  ${option.flag} <`), option.flag)
    assert(help.includes(`Environment: ${option.env}.`), option.env)
    assert(help.includes(`Default: ${option.default}.`), option.default)
  }
  for (const line of help.split('\n')) assert(line.length <= 90, line)
})

test('docs/configuration.md is the table', () => {
  const url = new URL('../../docs/configuration.md', import.meta.url)
  if (process.env.UPDATE_DOCS === '1') writeFileSync(url, markdown())
  assert.equal(readFileSync(url, 'utf8'), markdown(), 'run UPDATE_DOCS=1 npm test -- config')
})

function markdown(): string {
  const rows = Object.values(OPTIONS).map((option: Option) => {
    const takes = `${option.sentence} Takes ${allowed(option)}.`
    return `| \`${option.flag}\` | \`${option.env}\` | ${option.default} | ${takes} |`
  })
  return `# Configuration

Every option is a flag and an environment variable; the flag wins, and an empty variable counts as
unset. \`sluice --help\` prints the same table. A value that cannot be used stops the start with
exit code 2 and a message that names the option, what was given and what is allowed. A \`SLUICE_\`
variable that is not in the table is warned about.

| flag | variable | default | meaning |
|---|---|---|---|
${rows.join('\n')}
| \`--help\` | | | Prints the options. |
| \`--version\` | | | Prints the version. |

This page is made from the table in \`src/config.ts\`: \`UPDATE_DOCS=1 npm test -- config\`.
`
}
