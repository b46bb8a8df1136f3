/** What values an option of the configuration takes. */
import { accessSync, constants } from 'node:fs'
import { splitHosts } from './store/clickhouse-hosts.ts'
import { PLACE_NAME } from './store/clickhouse-place.ts'
import { parsePostgresUrl } from './store/postgres-url.ts'
import { parseSyslogAddresses } from './syslog-address.ts'

interface OptionBase {
  readonly flag: string
  readonly env: string
  /** As shown to people. */
  readonly default: string
  readonly sentence: string
}
export type Option =
  | (OptionBase & { readonly kind: 'text' | 'path' | 'file' | 'postgres' })
  | (OptionBase & { readonly kind: 'url'; readonly protocols: readonly string[] })
  /** Of letters, digits, `_` and `-`. */
  | (OptionBase & { readonly kind: 'name' })
  /** Of syslog; separated by commas, or given again and again. */
  | (OptionBase & { readonly kind: 'listeners' })
  /** Separated by commas, or `*`. */
  | (OptionBase & { readonly kind: 'origins' })
  | (OptionBase & { readonly kind: 'choice'; readonly choices: readonly string[] })
  | (OptionBase & {
      readonly kind: 'integer'
      readonly min: number
      readonly max: number
      readonly unit?: string
    })

/** Of an option without a bound of its own. */
export const BYTES_MAX = Number.MAX_SAFE_INTEGER

/** What throws an error that says what is wrong. */
const PARSERS: Readonly<Partial<Record<Option['kind'], (value: string) => unknown>>> = {
  postgres: parsePostgresUrl,
  listeners: parseSyslogAddresses,
}

/** Why a value cannot be used, as far as `allowed` does not say it. */
export function whyNot(option: Option, value: string): string | undefined {
  const parse = PARSERS[option.kind]
  if (parse === undefined) return isAllowed(option, value) ? undefined : ''
  try {
    parse(value)
    return undefined
  } catch (cause) {
    return cause instanceof Error ? ` (${cause.message})` : ''
  }
}

function isAllowed(option: Option, value: string): boolean {
  switch (option.kind) {
    case 'integer': {
      const number = /^\d{1,16}$/.test(value) ? Number(value) : -1
      return number >= option.min && number <= option.max
    }
    case 'choice':
      return option.choices.includes(value)
    case 'url':
      return splitHosts(value).every((url) => {
        return URL.canParse(url) && option.protocols.includes(new URL(url).protocol)
      })
    case 'name':
      return PLACE_NAME.test(value)
    case 'origins':
      return value === '*' || value.split(',').every(isOrigin)
    case 'file':
      return isReadable(value)
    default:
      return !value.includes('\0')
  }
}

/** What values an option takes, as the end of a sentence. */
export function allowed(option: Option): string {
  switch (option.kind) {
    case 'integer': {
      const unit = 'unit' in option ? ` ${option.unit}` : ''
      const hasMax = option.max < BYTES_MAX
      return `a whole number${unit ? ` of${unit}` : ''}, ${option.min}${
        hasMax ? ` to ${option.max}` : ' or more'
      }`
    }
    case 'choice':
      return `one of ${option.choices.join(', ')}`
    case 'url':
      return `a URL that starts with ${option.protocols.map((p) => `${p}//`).join(' or ')}`
    case 'name':
      return 'a name of letters, digits, _ and -, at most 64'
    case 'origins':
      return '* or origins such as https://app.example.com, separated by commas'
    case 'listeners':
      return 'URLs such as udp://0.0.0.0:5514?stream=network, separated by commas'
    case 'postgres':
      return 'a URL that starts with postgres:// or postgresql://'
    case 'file':
      return 'a file that can be read'
    case 'path':
      return 'a path'
    case 'text':
      return 'an address or host name'
  }
}

/** As browsers send it: nothing behind the host and port. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}
