/**
 * Rules in files, so that they can live in a repository: a file has one as an object with its
 * `name`, or without it under the file's own; or several, as an array or a line each, as
 * `sluice alerts list --json` writes them.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { UsageError } from '../usage-error.ts'
import { settingsOf } from './rules.ts'

export interface FiledRule {
  readonly name: string
  readonly settings: Readonly<Record<string, unknown>>
  /** Where it stands, for messages. */
  readonly place: string
}

const SUFFIX = '.json'
const FILE_BYTES_MAX = 16 * 1024 * 1024

/** Of a file, of each `*.json` of a folder, or of stdin. Throws `UsageError`. */
export function readRuleFiles(path: string): readonly FiledRule[] {
  const rules = pathsOf(path).flatMap(readFile)
  const places = new Map<string, string>()
  for (const { name, place } of rules) {
    const other = places.get(name)
    if (other !== undefined) throw new UsageError(`${name} is in ${other} and in ${place}`)
    places.set(name, place)
  }
  if (rules.length === 0) throw new UsageError(`there is no rule in ${path}`)
  return rules
}

function pathsOf(path: string): readonly string[] {
  if (path === '-') return [path]
  try {
    if (!statSync(path).isDirectory()) return [path]
    const names = readdirSync(path).filter((name) => name.endsWith(SUFFIX))
    return names.sort().map((name) => join(path, name))
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

function readFile(path: string): readonly FiledRule[] {
  const place = path === '-' ? 'stdin' : path
  const own = path.endsWith(SUFFIX) ? basename(path, SUFFIX) : undefined
  const rules = documentsOf(textOf(path), place).flatMap((one) =>
    Array.isArray(one) ? one : [one],
  )
  return rules.map((rule: unknown) => {
    if (typeof rule !== 'object' || rule === null) {
      throw new UsageError(`${place}: a rule is a JSON object`)
    }
    const { name = rules.length === 1 ? own : undefined } = rule as { readonly name?: unknown }
    if (typeof name !== 'string' || name === '') {
      throw new UsageError(`${place}: a rule has no "name"`)
    }
    return { name, settings: settingsOf(rule), place }
  })
}

function textOf(path: string): string {
  try {
    const bytes = readFileSync(path === '-' ? 0 : path)
    if (bytes.length > FILE_BYTES_MAX)
      throw new UsageError(`${path} is over ${FILE_BYTES_MAX} bytes`)
    return bytes.toString('utf8')
  } catch (cause) {
    throw cause instanceof UsageError ? cause : unreadable(path, cause)
  }
}

/** The whole, or its lines; what is wrong with the whole is told where it is neither. */
function documentsOf(text: string, place: string): readonly unknown[] {
  const whole = tryParse(text)
  if ('value' in whole) return [whole.value]
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const parsed = lines.map(tryParse)
  const values = parsed.flatMap((line) => ('value' in line ? [line.value] : []))
  if (lines.length > 1 && values.length === lines.length) return values
  throw new UsageError(`${place}: ${whole.mistake}`)
}

function tryParse(text: string): { readonly value: unknown } | { readonly mistake: string } {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (cause) {
    return { mistake: cause instanceof Error ? cause.message : String(cause) }
  }
}

function unreadable(path: string, cause: unknown): UsageError {
  const { code, message } = cause as NodeJS.ErrnoException
  return new UsageError(code === 'ENOENT' ? `there is no file ${path}` : message)
}
