/**
 * Output for people: one event per line, coloured by level where the terminal has colours. Control
 * characters are shown, not passed through, whatever they come from: events, names, or messages of
 * the service. A log line must not move the cursor.
 */
import { visibleLine, visibleText } from '../language/visible-text.ts'
import type { Level } from '../model/event-labels.ts'
import { type EventRecord, levelOf, lineOf, type TimeBasis } from './events/event-values.ts'
import { UsageError } from './usage-error.ts'

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

  /**
   * One line for an event: its time, its level, and its text or its whole payload; its stream's
   * name where there are several.
   */
  event(record: EventRecord, basis: TimeBasis, streamName?: string): string {
    const level = levelOf(record)
    const time = visibleLine(record[basis].replace('T', ' ').replace(/Z$/, ''))
    const shown = (level ?? '').padEnd(LEVEL_WIDTH)
    const stream = streamName === undefined ? '' : `[${streamName}] `
    const text = visibleLine(`${stream}${lineOf(record)}`)
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
    return [this.heading(lines[0] ?? ''), ...lines.slice(1)].join('\n')
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

  /** To stdout: a line of CSV. On a terminal as `json` does it. */
  csv(row: string): void {
    const { isTTY } = process.stdout
    process.stdout.write(isTTY === true ? `${visibleText(row)}\n` : `${row}\r\n`)
  }

  /** For what stands above columns. */
  heading(text: string): string {
    return this.#paint('1', text)
  }

  /** For what is beside the point. */
  quiet(text: string): string {
    return this.#paint('2', text)
  }

  #paint(code: string | undefined, text: string): string {
    return this.#hasColor && code !== undefined ? `\x1b[${code}m${text}\x1b[0m` : text
  }
}
