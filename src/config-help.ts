/** `--help`, made from the table of options. */
import { OPTION_NAMES, OPTIONS } from './config.ts'
import { allowed, type Option } from './config-values.ts'

/** In place of the service: see `store/cluster/check-clickhouse.ts`. */
export const CHECK_COMMAND = 'check-clickhouse'

const HELP_COLUMNS = 90
const HELP_INDENT = ' '.repeat(6)

/** The text of `--help`: every option with its variable, values and default. */
export function helpText(): string {
  const lines = ['Usage: sluice [options]', `       sluice ${CHECK_COMMAND} [options]`]
  lines.push('       sluice backup|restore [options] <file>   (backup --help, restore --help)', '')
  lines.push('Durable log ingest over HTTP.', '')
  lines.push(`${CHECK_COMMAND} tries what is needed on the ClickHouse that the options name, in a`)
  lines.push("database of its own (the name of the projection's and _check), and drops it.", '')
  lines.push('Options:')
  for (const name of OPTION_NAMES) {
    const option: Option = OPTIONS[name]
    lines.push(`  ${option.flag} <${placeholder(option)}>`)
    lines.push(...wrap(option.sentence))
    lines.push(...wrap(`Environment: ${option.env}. Takes ${allowed(option)}.`))
    lines.push(...wrap(`Default: ${option.default}.`))
  }
  lines.push('  --help', ...wrap('Print this text.'))
  lines.push('  --version', ...wrap('Print the version.'), '')
  lines.push('Write options as "--port 4800" or "--port=4800". An option beats its variable.', '')
  return lines.join('\n')
}

function placeholder(option: Option): string {
  if (option.kind === 'integer') return option.unit ?? 'number'
  return option.kind === 'text' ? 'address' : option.kind === 'choice' ? 'choice' : option.kind
}

function wrap(sentence: string): string[] {
  const lines: string[] = []
  let line = HELP_INDENT
  for (const word of sentence.split(' ')) {
    if (line !== HELP_INDENT && line.length + 1 + word.length > HELP_COLUMNS) {
      lines.push(line)
      line = HELP_INDENT
    }
    line += line === HELP_INDENT ? word : ` ${word}`
  }
  lines.push(line)
  return lines
}
