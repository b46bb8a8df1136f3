/** The commands by name, and their help. */
import { parseArgs } from 'node:util'
import { visibleText } from '../language/visible-text.ts'
import { version } from '../version.ts'
import { alerts } from './alerts/alerts.ts'
import { ApiFailure, Client } from './client.ts'
import {
  type Command,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  type Options,
  textOf,
  type Values,
} from './command.ts'
import { completionOf } from './completion.ts'
import { compare } from './incident/compare.ts'
import { patterns } from './incident/patterns.ts'
import { keys } from './keys.ts'
import { OWN_MACHINE } from './own-machine.ts'
import { query } from './query.ts'
import { schema } from './schema.ts'
import { search } from './search.ts'
import { send } from './send.ts'
import { streams } from './streams.ts'
import { tail } from './tail.ts'
import { Terminal } from './terminal.ts'
import { tokens } from './tokens.ts'
import { usage } from './usage.ts'
import { UsageError } from './usage-error.ts'
import { views } from './views.ts'

const COMMANDS: Readonly<Record<string, Command>> = {
  ...{ tail, search, query, patterns, compare, schema, views, alerts },
  ...{ send, streams, usage, keys, tokens },
  completion: completionOf(() => {
    return Object.entries(COMMANDS).map(([name, command]) => ({
      ...{ name, command },
      options: { ...command.options, ...SHARED_OPTIONS },
      choices: { ...command.choices, ...SHARED_CHOICES },
    }))
  }),
}

const SHARED_OPTIONS: Options = {
  url: { type: 'string' },
  token: { type: 'string' },
  json: { type: 'boolean' },
  color: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
}
const SHARED_CHOICES = { color: ['always', 'never', 'auto'] } as const
const SHARED_HELP: Readonly<Record<string, string>> = {
  url: 'The service; else SLUICE_URL, else http://localhost:4800',
  token: 'An access token; else SLUICE_TOKEN. Visible in the list of processes',
  json: 'Answers as the API gives them, one per line',
  color: '`always`, `never`, or `auto`: when it is a terminal',
  help: 'This text',
}

/** Runs a command line; resolves with the exit code. */
export async function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [name = '', ...rest] = args
  if (name === '' || name === '--help' || name === '-h' || name === 'help') {
    console.log(overview())
    return name === '' ? EXIT_USAGE : EXIT_OK
  }
  if (name === '--version') {
    console.log(version)
    return EXIT_OK
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  try {
    if (Object.hasOwn(OWN_MACHINE, name) || name.startsWith('-')) {
      const how = 'the service is started by npm start, or by bin/sluice serve'
      throw new UsageError(`${how}; bin/sluice has backup and restore, too`)
    }
    if (command === undefined) {
      throw new UsageError(`there is no command ${name}; there are ${names().join(', ')}`)
    }
    return await runCommand(name, command, rest, env)
  } catch (cause) {
    if (cause instanceof UsageError) {
      console.error(`sluice: ${visibleText(cause.message)}`)
      return EXIT_USAGE
    }
    if (!(cause instanceof ApiFailure)) throw cause
    console.error(`sluice: ${visibleText(cause.message)}`)
    return EXIT_FAILED
  }
}

async function runCommand(
  name: string,
  command: Command,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const { values, positionals } = parse(name, command, args)
  if (values.help === true) {
    console.log(helpOf(name, command))
    return EXIT_OK
  }
  const gone = new AbortController()
  const stop = () => gone.abort()
  process.once('SIGINT', stop)
  // The reader of our output may stop early (`| head`).
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT_OK)
  })
  const client = new Client(
    textOf(values.url) ?? env.SLUICE_URL ?? 'http://localhost:4800',
    textOf(values.token) ?? env.SLUICE_TOKEN,
    gone.signal,
  )
  const terminal = new Terminal(textOf(values.color) ?? 'auto', env)
  const { signal } = gone
  try {
    return await command.run({ client, terminal, values, positionals, env, signal })
  } catch (cause) {
    if (signal.aborted) return EXIT_OK
    throw cause
  } finally {
    process.off('SIGINT', stop)
  }
}

function parse(name: string, command: Command, args: readonly string[]) {
  const options = { ...SHARED_OPTIONS, ...command.options }
  try {
    const { values, positionals } = parseArgs({
      args: joinTimes(args, options),
      options,
      allowPositionals: true,
    })
    if (positionals.length > command.positionalsMax) {
      const extra = positionals[command.positionalsMax]
      throw new UsageError(`unexpected word ${extra}; quote a query of several words`)
    }
    return { values: values as Values, positionals }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    const text = cause instanceof Error ? cause.message : String(cause)
    throw new UsageError(`${text} (sluice ${name} --help)`)
  }
}

/** Turns `--from -15m` into `--from=-15m`: a value with a minus is a time here, not an option. */
function joinTimes(args: readonly string[], options: Options): string[] {
  const joined: string[] = []
  for (const arg of args) {
    const last = joined.at(-1) ?? ''
    const isWaiting = Object.entries(options).some(([name, { type, short }]) => {
      return type === 'string' && (last === `--${name}` || last === `-${short}`)
    })
    if (!isWaiting || !/^-\d/.test(arg)) joined.push(arg)
    else joined[joined.length - 1] = last.startsWith('--') ? `${last}=${arg}` : `${last}${arg}`
  }
  return joined
}

function names(): string[] {
  return Object.keys(COMMANDS)
}

const NAME_WIDTH = 12

function overview(): string {
  const lines = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(NAME_WIDTH)}${summary}`,
  )
  return [
    'Usage: sluice <command> [options]',
    '',
    ...lines,
    '',
    "On the service's own machine:",
    ...Object.entries(OWN_MACHINE).map(([name, text]) => `  ${name.padEnd(NAME_WIDTH)}${text}`),
    '',
    "sluice <command> --help shows a command's options. A query that begins with - goes after --.",
    '',
    'Environment: SLUICE_URL (http://localhost:4800), SLUICE_TOKEN (an access token),',
    'SLUICE_KEY (an API key, for send).',
    '',
    'Exit codes: 0 done, 1 nothing found, 2 the command line is wrong, 3 the service refused,',
    'failed, did not answer, or its answer broke off.',
  ].join('\n')
}

function helpOf(name: string, { usage, summary, options, help }: Command): string {
  const all = { ...options, ...SHARED_OPTIONS }
  const texts = { ...help, ...SHARED_HELP }
  const lines = Object.entries(all).map(([option, { type, short }]) => {
    const letter = short === undefined ? '' : `, -${short}`
    const value = type === 'string' ? ' <value>' : ''
    return `  --${option}${letter}${value}\n      ${texts[option] ?? ''}`
  })
  return [`Usage: sluice ${name} ${usage}`, '', summary, '', 'Options:', ...lines].join('\n')
}
