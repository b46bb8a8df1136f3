/**
 * The little that the HTTP front must know of a statement. These are guesses by pattern, made to
 * fail safe: what is not recognised goes to the engine as it came.
 */
import { quote } from './clickhouse-engine.ts'

/** An INSERT whose data follows: `INSERT INTO t (…) [SETTINGS …] FORMAT f`. */
export interface InsertStatement {
  /** Up to the settings: `INSERT INTO t (…)`. */
  readonly head: string
  /** ` SETTINGS …` or empty. */
  readonly settings: string
  readonly format: string
}

const COMMENTS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/

/** The INSERT that `sql` is when its data comes separately, else undefined. */
export function parseInsert(sql: string): InsertStatement | undefined {
  const text = sql.replace(COMMENTS, '').replace(/[\s;]+$/, '')
  if (!/^INSERT\s/i.test(text)) return undefined
  const tail = /\s(?:FORMAT\s+([A-Za-z0-9_]+)|(VALUES))$/i.exec(text)
  if (tail === null) return undefined
  const body = text.slice(0, tail.index)
  const settings = /\sSETTINGS\s+[a-z_][a-z0-9_]*\s*=[\s\S]*$/i.exec(body)
  return {
    head: settings === null ? body : body.slice(0, settings.index),
    settings: settings?.[0] ?? '',
    format: tail[1] ?? 'Values',
  }
}

export function isInsert(sql: string): boolean {
  return /^INSERT\s/i.test(sql.replace(COMMENTS, ''))
}

/** A body that holds an INSERT and, after `FORMAT f` and a line end, its data. */
export function splitInlineData(
  body: Buffer,
): { readonly statement: string; readonly data: Buffer } | undefined {
  // One character a byte, so that positions in the text are positions in the body.
  const text = body.toString('latin1')
  if (!isInsert(text)) return undefined
  const format = /\sFORMAT\s+[A-Za-z0-9_]+[ \t]*\r?\n/i.exec(text)
  if (format === null || /\b(?:VALUES|SELECT)\b/i.test(text.slice(0, format.index)))
    return undefined
  const end = format.index + format[0].length
  return { statement: body.subarray(0, end).toString().trim(), data: body.subarray(end) }
}

/** What may hold a semicolon that ends nothing: strings, quoted names, comments. */
const TOKENS = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|--[^\n]*|\/\*[\s\S]*?\*\/|;/gs

/** Where the first statement ends when another follows it. */
export function multiStatementAt(sql: string): number | undefined {
  for (const match of sql.matchAll(TOKENS)) {
    if (match[0] !== ';') continue
    const rest = sql.slice(match.index + 1).replace(COMMENTS, '')
    if (rest !== '' && rest !== ';') return match.index
  }
  return undefined
}

/** The same INSERT, reading its data from a file. */
export function withInfile(insert: InsertStatement, path: string): string {
  return `${insert.head} FROM INFILE ${quote(path)}${insert.settings} FORMAT ${insert.format}`
}

/** Whether the engine can compute its result piece by piece. */
export function isStreamable(sql: string): boolean {
  return /^(?:\(\s*)*(?:SELECT|WITH)\b/i.test(sql.replace(COMMENTS, ''))
}

/** Whether it takes a place among the writes. Reads are recognised; all else counts as a write. */
export function isWrite(sql: string): boolean {
  const text = sql.replace(COMMENTS, '')
  return !/^(?:\(\s*)*(?:SELECT|WITH|SHOW|DESC|DESCRIBE|EXISTS|EXPLAIN|CHECK)\b/i.test(text)
}

/** The format that the statement itself asks for. */
export function resultFormat(sql: string): string | undefined {
  return /\sFORMAT\s+([A-Za-z0-9_]+)\s*;?\s*$/i.exec(sql)?.[1]
}
