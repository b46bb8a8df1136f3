/**
 * Events on stdout: lines for people, the records of the API, or CSV; whole, or the fields that
 * were asked for, and nothing else then.
 */
import { visibleLine, visibleString } from '../../language/visible-text.ts'
import type { Clock } from '../clock.ts'
import { textOf, type Values } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { CSV_HELP, CSV_OPTIONS, csvHeading, csvRow, isCsv } from './csv.ts'
import {
  type EventRecord,
  EventValues,
  jsonOf,
  pathsOf,
  readShownFields,
  SHOWN_NAMES,
  type ShownField,
} from './event-values.ts'
import { type JsonSpan, jsonKind, jsonString, jsonText } from './exact-json.ts'

export const OUTPUT_OPTIONS = { fields: { type: 'string' }, ...CSV_OPTIONS } as const
export const OUTPUT_HELP = {
  fields: `Only these, with commas: level,http.status,_service; columns, or with --json members
      of those names. Odd names in backquotes. Every event has, besides its own:
      ${SHOWN_NAMES.join(', ')}`,
  ...CSV_HELP,
} as const

/** An event beside those that match. */
const CONTEXT_MEMBER = '_match'
/** Columns are as wide as this at most; longer cells push the others aside. */
const CELL_WIDTH_MAX = 40

export interface OutputOf {
  readonly terminal: Terminal
  readonly values: Values
  readonly clock: Clock
  /** Tells the names of streams, where there are several. */
  readonly nameOf: ((id: string) => string) | undefined
  /** There are events that do not match among them. */
  readonly hasContext: boolean
  /** Names of what is shown when `--fields` does not say it; undefined is the whole event. */
  readonly columns?: readonly string[] | undefined
}

/** A record of the API, as its text; of several streams it has `_stream`. */
export interface ShownEvent {
  readonly text: string
  readonly isMatch: boolean
}

export class EventOutput {
  readonly #of: OutputOf
  #fields: readonly ShownField[] | undefined
  readonly #isJson: boolean
  readonly #isCsv: boolean
  readonly #isSafe: boolean
  #widths: number[] = []
  #hasBegun = false
  #hasPrinted = false

  /** Throws `UsageError`. */
  constructor(of: OutputOf) {
    const { values, columns } = of
    this.#of = of
    this.#isJson = values.json === true
    this.#isCsv = isCsv(values)
    this.#isSafe = values['csv-safe'] === true
    if (this.#isJson && this.#isCsv) throw new UsageError('--json and --csv exclude each other')
    const names = textOf(values.fields) ?? columns
    // With --json whole events are what programs want.
    const isAsked = names !== undefined && (names !== columns || !this.#isJson)
    if (isAsked) this.#fields = readShownFields(names)
    if (this.#isCsv) this.#fields ??= this.#csvFields()
  }

  /** For the API's `fields`: what suffices of the payload; undefined is the whole of it. */
  get paths(): readonly string[] | undefined {
    return this.#fields && pathsOf(this.#fields)
  }

  printAll(events: readonly ShownEvent[]): void {
    this.measure(events)
    for (const event of events) this.print(event)
  }

  /** What will be printed, so that columns are as wide as they need to be from the beginning. */
  measure(events: readonly ShownEvent[]): void {
    if (this.#isInColumns) for (const event of events) this.#measure(this.#shownCells(event))
  }

  print(event: ShownEvent): void {
    this.begin()
    this.#hasPrinted = true
    const { terminal, clock, nameOf, hasContext } = this.#of
    const { text, isMatch } = event
    if (this.#isCsv) {
      terminal.csv(csvRow(this.#cells(event), this.#isSafe))
    } else if (this.#isJson) {
      terminal.json(this.#json(event))
    } else if (this.#fields !== undefined) {
      const cells = this.#shownCells(event)
      this.#measure(cells)
      terminal.line(this.#beside(this.#aligned(cells), isMatch))
    } else {
      const record = JSON.parse(text) as EventRecord
      const name = record._stream === undefined ? undefined : nameOf?.(record._stream)
      const line = terminal.event(record, clock.basis, name)
      terminal.line(hasContext ? this.#beside(line, isMatch) : line)
    }
  }

  /** Before events that do not follow those that were printed. */
  part(): void {
    const { terminal } = this.#of
    if (!this.#isJson && !this.#isCsv && this.#hasPrinted) terminal.line(terminal.quiet('--'))
  }

  /** Names of columns; also where no event follows. */
  begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const { terminal, hasContext } = this.#of
    const names = (this.#fields ?? []).map(({ name }) => name)
    if (this.#isCsv) {
      terminal.csv(csvHeading(hasContext ? [CONTEXT_MEMBER, ...names] : names, this.#isSafe))
    } else if (this.#isInColumns) {
      const shown = names.map(visibleLine)
      this.#measure(shown)
      terminal.line(terminal.heading(`${hasContext ? '  ' : ''}${this.#aligned(shown)}`))
    }
  }

  get #isInColumns(): boolean {
    return this.#fields !== undefined && !this.#isJson && !this.#isCsv
  }

  #csvFields(): readonly ShownField[] {
    const { clock, nameOf } = this.#of
    const names = [`_${clock.basis}`, '_id', '_level', '_service', '_payload']
    return [...(nameOf ? ['_stream'] : []), ...names].map((name) => ({ name, path: undefined }))
  }

  #json({ text, isMatch }: ShownEvent): string {
    const begin = this.#of.hasContext ? `{"${CONTEXT_MEMBER}":${isMatch}` : '{'
    if (this.#fields === undefined) {
      return this.#of.hasContext ? `${begin},${text.slice(1)}` : text
    }
    const values = this.#values(text)
    const members = this.#fields.flatMap((field, index) => {
      const value = values[index]
      return value === undefined ? [] : [`${JSON.stringify(field.name)}:${jsonText(value)}`]
    })
    const isFirst = begin === '{' || members.length === 0
    return `${begin}${isFirst ? '' : ','}${members.join(',')}}`
  }

  #cells({ text, isMatch }: ShownEvent): (JsonSpan | undefined)[] {
    const values = this.#values(text)
    return this.#of.hasContext ? [jsonOf(isMatch), ...values] : values
  }

  #values(text: string): (JsonSpan | undefined)[] {
    const event = new EventValues(text)
    return (this.#fields ?? []).map((field) => {
      const value = event.at(field)
      if (field.name !== '_stream' || field.path !== undefined || value === undefined) return value
      return jsonOf(this.#of.nameOf?.(jsonString(value)) ?? jsonString(value))
    })
  }

  #shownCells({ text }: ShownEvent): string[] {
    return this.#values(text).map((value) => {
      if (value === undefined || jsonKind(value) === 'null') return '-'
      if (jsonKind(value) === 'string') return visibleLine(visibleString(jsonString(value)))
      return visibleLine(jsonText(value))
    })
  }

  #measure(cells: readonly string[]): void {
    this.#widths = cells.map((cell, column) => {
      return Math.max(this.#widths[column] ?? 0, Math.min(cell.length, CELL_WIDTH_MAX))
    })
  }

  #aligned(cells: readonly string[]): string {
    return cells
      .map((cell, column) => cell.padEnd(this.#widths[column]!))
      .join('  ')
      .trimEnd()
  }

  /** As grep tells them apart: what matches has a mark, what is beside it has none. */
  #beside(line: string, isMatch: boolean): string {
    const { hasContext, terminal } = this.#of
    if (!hasContext) return line
    return isMatch ? `> ${line}` : `  ${terminal.quiet(line)}`
  }
}
