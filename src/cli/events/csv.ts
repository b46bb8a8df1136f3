/**
 * CSV (RFC 4180) as the API's export writes it: an empty string is `""`, what is not there is
 * nothing. Safe for spreadsheets where that is asked for: see `csv-cell.ts`.
 */
import { csvCell, safeText } from '../../bytes/csv-cell.ts'
import type { Values } from '../command.ts'
import { type JsonSpan, jsonKind, jsonString, jsonText } from './exact-json.ts'

export const CSV_OPTIONS = { csv: { type: 'boolean' }, 'csv-safe': { type: 'boolean' } } as const
export const CSV_HELP = {
  csv: 'CSV with a line of names, for programs',
  'csv-safe': "CSV for spreadsheets: text that one would take for a formula gets a ' before it",
} as const

export function isCsv(values: Values): boolean {
  return values.csv === true || values['csv-safe'] === true
}

/** A line without its end. */
export function csvRow(cells: readonly (JsonSpan | undefined)[], isSafe: boolean): string {
  return cells.map((cell) => cellOf(cell, isSafe)).join(',')
}

/** The line of names. */
export function csvHeading(names: readonly string[], isSafe: boolean): string {
  return names.map((name) => csvCell(isSafe ? safeText(name) : name, true)).join(',')
}

/** Numbers are no formulas, also negative ones; objects and arrays are JSON. */
function cellOf(value: JsonSpan | undefined, isSafe: boolean): string {
  if (value === undefined || jsonKind(value) === 'null') return ''
  if (jsonKind(value) !== 'string') return csvCell(jsonText(value), false)
  const text = jsonString(value)
  return csvCell(isSafe ? safeText(text) : text, true)
}
