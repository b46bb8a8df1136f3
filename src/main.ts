#!/usr/bin/env node
/** Process entry: reads the configuration, starts the app, turns signals into a clean stop. */
import { existsSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { type App, startApp } from './app/app.ts'
import { BACKUP_COMMANDS, type BackupCommand, runBackupCommand } from './backup/backup-command.ts'
import { type Config, ConfigError, parseConfig } from './config.ts'
import { CHECK_COMMAND, helpText } from './config-help.ts'
import { checkClickHouse } from './store/cluster/check-clickhouse.ts'
import { createLog } from './telemetry/log.ts'
import { version } from './version.ts'

/**
 * V8 counts memory outside its heap, such as the chunks of decompressed bodies, as growth of the
 * heap, and lets one of 17 MB grow by little: under gzip it marked all of it seven times a second.
 * Now it may become five times as large as what lives in it; chunks die young all the same.
 * Decision 29.
 */
setFlagsFromString('--heap-growing-percent=400')

const EXIT_FAILURE = 1
const EXIT_CONFIG = 2

/** One line for a shell: a stream, a key, an event. Uses nothing but curl and sed. */
function tryLine(baseUrl: string, tokenFile: string): string {
  const auth = `-H "Authorization: Bearer $(cat '${tokenFile}')"`
  const json = `-H 'Content-Type: application/json'`
  const curl = baseUrl.startsWith('https') ? 'curl -sk' : 'curl -s'
  const name = '"{\\"name\\":\\"try-$(date +%s)\\"}"'
  const stream = `${curl} ${baseUrl}/v1/streams ${auth} ${json} -d ${name}`
  const key = `${curl} ${baseUrl}/v1/streams/$ID/keys ${auth} ${json} -d '{"name":"try"}'`
  const send = `${curl} ${baseUrl}/v1/ingest -H "X-API-Key: $KEY" ${json} -d '{"message":"hello"}'`
  const pick = (field: string) => `sed -E 's/.*"${field}":"([^"]+)".*/\\1/'`
  return `ID=$(${stream} | ${pick('id')}); KEY=$(${key} | ${pick('key')}); ${send}`
}

/** Signed in already, once, for who sees the first start. */
function consoleUrl({ baseUrl, signInCode }: App, isSeen: boolean): string {
  const page = `${baseUrl}/console/`
  if (!isSeen || signInCode === undefined) return page
  return `${page}#sign-in=${signInCode} (signed in; works once, for 15 minutes)`
}

/** In one write, so that who waits for the first of these lines has them all. */
function announce(config: Config, app: App): void {
  const { tokenFile } = app
  const lines: string[] = []
  // For the eyes of who sits there: what is not a terminal is a journal that others read.
  const isSeen = process.stdout.isTTY && app.adminToken !== undefined
  if (isSeen) lines.push(`First admin token: ${app.adminToken}`)
  lines.push(`Sluice ${version} listens on ${app.baseUrl}`)
  lines.push(`Console: ${consoleUrl(app, isSeen)}`)
  const hasToken = existsSync(tokenFile)
  lines.push(`Admin token: ${hasToken ? `in ${tokenFile}` : 'with the node that made it'}`)
  lines.push(`Data: ${app.dataPath}${config.postgresUrl ? ' (external stores)' : ''}`)
  if (hasToken) lines.push('Try it, in another shell:', `  ${tryLine(app.baseUrl, tokenFile)}`)
  console.log(lines.join('\n'))
}

async function run(config: Config): Promise<void> {
  const log = createLog(config.logLevel)
  for (const warning of config.warnings) log.warn(warning)
  let stop: (code: number, reason: string) => void = () => process.exit(EXIT_FAILURE)
  const starting = startApp(config, log, {
    onStarting: () => console.log('Starting the stores …'),
    onFatal: (reason) => stop(EXIT_FAILURE, reason),
  })
  let isStopping = false
  stop = (code, reason) => {
    if (isStopping) return
    isStopping = true
    log.info({ reason }, 'stopping')
    console.log('Stopping: acknowledging what was accepted …')
    starting
      .then((app) => app.stop())
      .then(
        () => process.exit(code),
        (cause: unknown) => {
          log.fatal({ err: cause }, 'could not stop cleanly')
          process.exit(EXIT_FAILURE)
        },
      )
  }
  process.on('SIGTERM', () => stop(0, 'SIGTERM'))
  process.on('SIGINT', () => stop(0, 'SIGINT'))
  process.on('unhandledRejection', (cause) => {
    log.fatal({ err: cause }, 'unhandled rejection')
    stop(EXIT_FAILURE, 'unhandled rejection')
  })
  announce(config, await starting)
}

/** Tries what the projection needs on the ClickHouse of the configuration. */
async function check(config: Config): Promise<number> {
  const { clickhouseUrl: url, clickhouseCluster: cluster } = config
  if (url === undefined) throw new ConfigError(`${CHECK_COMMAND} needs --clickhouse-url`)
  const say = (line: string) => console.log(line)
  const failures = await checkClickHouse({
    url,
    cluster,
    storagePolicy: config.clickhouseStoragePolicy,
    say,
  })
  say(failures === 0 ? 'All of it holds.' : `${failures} of it do not hold: see docs/cluster.md.`)
  return failures === 0 ? 0 : EXIT_FAILURE
}

/** Backs up or restores, in place of the service. */
async function backUpOrRestore(command: BackupCommand, argv: readonly string[]): Promise<void> {
  const stopped = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stopped.abort(new Error(`${name}: broken off, nothing is left of it`)))
  }
  await runBackupCommand(command, argv, {
    env: process.env,
    log: createLog('warn'),
    stderr: process.stderr,
    // stdout may be the archive.
    say: (line) => (argv.includes('-') ? console.error(line) : console.log(line)),
    signal: stopped.signal,
  })
  process.exit(0)
}

async function main(): Promise<void> {
  try {
    const [command, ...rest] = process.argv.slice(2)
    const backup = BACKUP_COMMANDS.find((name) => name === command)
    if (backup !== undefined) return await backUpOrRestore(backup, rest)
    const isCheck = command === CHECK_COMMAND
    const parsed = parseConfig(isCheck ? rest : process.argv.slice(2), process.env)
    if (parsed.kind === 'help') console.log(helpText())
    else if (parsed.kind === 'version') console.log(version)
    else if (isCheck) process.exitCode = await check(parsed.config)
    else await run(parsed.config)
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    console.error(`sluice: ${message}`)
    process.exit(cause instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILURE)
  }
}

await main()
