/** `sluice backup` and `sluice restore` as a command line: arguments, files, what is told. */
import { createReadStream } from 'node:fs'
import { type Config, ConfigError, parseConfig } from '../config.ts'
import { RestoreTarget } from '../store/backup/restore-target.ts'
import type { StoreLog } from '../store/store-log.ts'
import { version } from '../version.ts'
import { openForBackup, openForRestore } from './open-postgres.ts'
import { openOutput } from './output-file.ts'
import { mib, NO_PROGRESS, type ProgressOutput, tellProgress } from './progress.ts'
import { type FillTable, readBackup } from './read-backup.ts'
import { writeBackup } from './write-backup.ts'

export const BACKUP_COMMANDS = ['backup', 'restore'] as const
export type BackupCommand = (typeof BACKUP_COMMANDS)[number]

export interface CommandHost {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: StoreLog
  /** For people, and for progress; the archive may be on stdout. */
  readonly stderr: ProgressOutput
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

const SWITCHES = ['--help', '-h', '--quiet', '--check', '--new-admin-token'] as const
type Switch = (typeof SWITCHES)[number]
/** On its side of `-`. */
const STANDARD = '-'

/** Throws `ConfigError` for what is wrong with the arguments, else what tells what to do. */
export async function runBackupCommand(
  command: BackupCommand,
  argv: readonly string[],
  host: CommandHost,
): Promise<void> {
  const { switches, file, config } = readArguments(command, argv, host.env)
  if (switches.has('--help') || switches.has('-h')) return host.say(HELP[command])
  if (file === undefined || config === undefined) {
    throw new ConfigError(`sluice ${command} needs a file, or - (sluice ${command} --help)`)
  }
  const isTold = !switches.has('--quiet')
  const progress = isTold ? tellProgress(host.stderr, () => performance.now()) : NO_PROGRESS
  const told = { ...host, say: isTold ? host.say : () => undefined }
  const task = { file, config, switches, progress, host: told }
  if (command === 'backup') await backUp(task)
  else await restore(task)
}

interface Task {
  readonly file: string
  readonly config: Config
  readonly switches: ReadonlySet<Switch>
  readonly progress: ReturnType<typeof tellProgress>
  readonly host: CommandHost
}

async function backUp({ file, config, progress, host }: Task): Promise<void> {
  const { log, say, signal } = host
  const output = await openOutput(file === STANDARD ? undefined : file)
  try {
    const opened = await openForBackup(config, log)
    try {
      const { postgres } = opened
      const write = (bytes: Uint8Array) => output.write(bytes)
      const { bytes, contents } = await writeBackup({ postgres, version, write, progress, signal })
      await output.finish()
      progress.end()
      const { streams, events, takenAt } = contents
      say(`Backup of ${takenAt}: ${streams} streams, ${events} events, ${mib(bytes)} MiB.`)
    } finally {
      await opened.close()
    }
  } catch (cause) {
    await output.abandon()
    throw cause
  }
}

async function restore({ file, config, switches, progress, host }: Task): Promise<void> {
  const { log, say, signal } = host
  const input = file === STANDARD ? process.stdin : createReadStream(file)
  if (switches.has('--check')) {
    const begin = async () => drain
    const { takenAt, events } = await readBackup(input, { begin, progress, signal })
    progress.end()
    return say(`The archive is whole: ${events} events of ${takenAt}.`)
  }
  const opened = await openForRestore(config, log)
  let target: RestoreTarget | undefined
  try {
    const begin = async ({ migrations }: { readonly migrations: Migrations }) => {
      target = await RestoreTarget.open(opened.postgres, migrations)
      const to = target
      const fill: FillTable = (table, columns, chunks) => to.copyIn(table, columns, chunks)
      return fill
    }
    const manifest = await readBackup(input, { begin, progress, signal })
    const revokesAdmins = switches.has('--new-admin-token')
    await target?.finish({ counters: manifest.counters, revokesAdmins })
    progress.end()
    const { streams, events, takenAt } = manifest
    say(`Restored ${streams} streams, ${events} events as of ${takenAt}.`)
    for (const line of afterRestore(config, revokesAdmins)) say(line)
  } finally {
    await target?.close()
    await opened.close()
  }
}

type Migrations = Parameters<typeof RestoreTarget.open>[1]

async function drain(_table: string, _columns: unknown, chunks: AsyncIterable<Uint8Array>) {
  for await (const _ of chunks);
  return undefined
}

function afterRestore({ postgresUrl, dataDir }: Config, hasNoAdmin: boolean): string[] {
  const options = postgresUrl === undefined ? `--data ${dataDir}` : '--postgres-url …'
  const tokens = hasNoAdmin
    ? 'The first start makes a new admin token; other tokens and keys work as before.'
    : 'Tokens and keys work as before; their texts are in no backup.'
  return [
    `Start it with: sluice serve ${options}`,
    'Searches and counts are complete once the events are in ClickHouse again.',
    tokens,
  ]
}

function readArguments(
  command: BackupCommand,
  argv: readonly string[],
  env: CommandHost['env'],
): { switches: ReadonlySet<Switch>; file: string | undefined; config: Config | undefined } {
  const switches = new Set<Switch>()
  const files: string[] = []
  const others: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index]!
    if ((SWITCHES as readonly string[]).includes(argument)) switches.add(argument as Switch)
    else if (!argument.startsWith('--')) files.push(argument)
    else {
      others.push(argument)
      const isOption = argument.startsWith('--data') || argument.startsWith('--postgres-url')
      if (!isOption) throw new ConfigError(`${command} has no option ${argument.split('=')[0]}`)
      if (!argument.includes('=')) others.push(argv[++index] ?? '')
    }
  }
  if (command === 'backup' && (switches.has('--check') || switches.has('--new-admin-token'))) {
    throw new ConfigError('--check and --new-admin-token are of restore')
  }
  if (files.length > 1) throw new ConfigError(`${command} takes one file, not ${files.length}`)
  const parsed = parseConfig(others, env)
  return { switches, file: files[0], config: parsed.kind === 'run' ? parsed.config : undefined }
}

const WHERE = `  --data <path>
      The data directory of the embedded PostgreSQL. Environment: SLUICE_DATA. Default: ./data.
  --postgres-url <postgres>
      A PostgreSQL of your own. Environment: SLUICE_POSTGRES_URL.
  --quiet
      Tell nothing but errors.
  --help
      Print this text.`
const EXITS = 'Exit codes: 0 done, 1 failed, 2 the command line is wrong.'

const HELP: Readonly<Record<BackupCommand, string>> = {
  backup: `Usage: sluice backup [options] <file>

Writes everything that cannot be rebuilt into one archive (a tar file with checksums): events,
streams, settings, keys and tokens (as digests), views, fields, counters. Not in it: the
projection in ClickHouse, which is built anew from the events, and the files of the data directory.
A running service goes on meanwhile; what it acknowledged before the backup began is in it. It is
written to <file>.partial, which becomes <file> when it is whole. With - it goes to stdout.

Options:
${WHERE}

${EXITS}`,
  restore: `Usage: sluice restore [options] <file>

Fills a new data directory, or an empty database, with a backup. Refused where there are data.
Nothing is there until all checksums were right: after a failure, begin again. The service must
not run; when it is started, it builds the projection from the events. With - it reads stdin.

Options:
  --check
      Read the archive and compare its checksums, and touch no database.
  --new-admin-token
      Revoke the admin tokens of the backup: the first start makes a new one.
${WHERE}

${EXITS}`,
}
