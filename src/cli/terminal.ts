/**
 * Output for people: one event per line, coloured by level where the terminal has colours. Control
 * characters are shown, not passed through, whatever they come from: events, names, or messages of
 * the service. A log line must not move the cursor.
 */
import { visibleLine, visibleText } from '../language/visible-text.ts'
import { LEVELS, type Level, readLevel } from '../model/event-labels.ts'
import { rankTextPaths, TEXT_FIELDS_DEFAULT, TextNames } from '../model/text-fields.ts'
import { UsageError } from './usage-error.ts'

/** Which of an event's times is meant. */
export type TimeBasis = 'event_time' | 'ingested_at'

export interface EventRecord {
  readonly id: string
  readonly ingested_at: string
  readonly event_time: string
  readonly _stream?: string
  /** Where an OTLP record says it beside the payload. */
  readonly level?: string
  readonly payload: Readonly<Record<string, unknown>>
}

const COLORS: Readonly<Record<Level, string>> = {
  fatal: '35;1',
  error: '31;1',
  warn: '33',
  info: '36',
  debug: '2',
  trace: '2',
}
const LEVEL_WIDTH = 5

export class Terminal {
  readonly #hasColor: boolean

  /** `color` is `always`, `never` or `auto`. Throws `UsageError`. */
  constructor(color: string, env: NodeJS.ProcessEnv) {
    if (color !== 'always' && color !== 'never' && color !== 'auto') {
      throw new UsageError('--color takes always, never or auto')
    }
    const isWanted = process.stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
    this.#hasColor = color === 'always' || (color === 'auto' && isWanted)
  }

  /** One line for an event: its time, its level, and its text or its whole payload. */
  event(record: EventRecord, basis: TimeBasis): string {
    const level = LEVELS.find((known) => known === record.level) ?? levelOf(record.payload)
    const time = visibleLine(record[basis].replace('T', ' ').replace(/Z$/, ''))
    const shown = (level ?? '').padEnd(LEVEL_WIDTH)
    const stream = record._stream === undefined ? '' : `[${record._stream}] `
    const text = visibleLine(`${stream}${lineOf(record.payload)}`)
    return `${this.#paint('2', time)} ${this.#paint(level && COLORS[level], shown)} ${text}`
  }

  /** Aligned columns; the first row holds their names. */
  table(rows: readonly (readonly string[])[]): string {
    const cells = rows.map((row) => row.map(visibleLine))
    const widths = (cells[0] ?? []).map((_, column) => {
      return Math.max(...cells.map((row) => (row[column] ?? '').length))
    })
    const lines = cells.map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    return [this.#paint('1', lines[0] ?? ''), ...lines.slice(1)].join('\n')
  }

  /** To stderr: what is said about the answer. */
  note(text: string): void {
    console.error(this.#paint('33', visibleLine(text)))
  }

  /** To stdout, as it is: made by `event` or `table`. */
  line(text: string): void {
    process.stdout.write(`${text}\n`)
  }

  /**
   * To stdout: JSON of the service, byte for byte. On a terminal characters that it could obey are
   * written by their escapes, which is the same JSON.
   */
  json(text: string): void {
    process.stdout.write(`${process.stdout.isTTY === true ? visibleText(text) : text}\n`)
  }

  #paint(code: string | undefined, text: string): string {
    return this.#hasColor && code !== undefined ? `\x1b[${code}m${text}\x1b[0m` : text
  }
}

function levelOf(payload: EventRecord['payload']): Level | undefined {
  return readLevel((path) => {
    const value = valueAt(payload, path)
    const isNumber = typeof value === 'number'
    return isNumber || typeof value === 'string' ? { isNumber, text: String(value) } : undefined
  })
}

/** The first text field, followed by the rest of the payload. */
function lineOf(payload: EventRecord['payload']): string {
  const strings = new Map(stringsOf(payload, ''))
  const [path] = rankTextPaths(strings.keys(), TEXT_NAMES)
  return path === undefined ? JSON.stringify(payload) : strings.get(path)!
}

const TEXT_NAMES = new TextNames(TEXT_FIELDS_DEFAULT)

/** The strings outside of arrays, by their paths. */
function* stringsOf(
  members: Readonly<Record<string, unknown>>,
  prefix: string,
): Generator<[path: string, text: string]> {
  for (const [key, value] of Object.entries(members)) {
    const path = `${prefix}${key}`
    if (typeof value === 'string') yield [path, value]
    else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      yield* stringsOf(value as Readonly<Record<string, unknown>>, `${path}.`)
    }
  }
}

function valueAt(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const members = value as Readonly<Record<string, unknown>>
  if (Object.hasOwn(members, path)) return members[path]
  const dot = path.indexOf('.')
  if (dot < 0 || !Object.hasOwn(members, path.slice(0, dot))) return undefined
  return valueAt(members[path.slice(0, dot)], path.slice(dot + 1))
}
