/**
 * The little that the HTTP front must know about a statement. These are guesses by pattern, made to
 * fail safe: a statement that is not recognised goes to the engine unchanged.
 */
import { quote } from './clickhouse-engine.ts'

/** An INSERT whose data follows: `INSERT INTO t (…) FORMAT f`. */
export interface InsertStatement {
  /** `INSERT INTO t (…)`. */
  readonly head: string
  readonly format: string
}

const COMMENTS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/

/** The INSERT that `sql` is when its data comes separately, else undefined. */
export function parseInsert(sql: string): InsertStatement | undefined {
  const match = /^(INSERT\s[\s\S]*)\sFORMAT\s+([A-Za-z0-9_]+)$/i.exec(sql.trim())
  return match === null ? undefined : { head: match[1]!, format: match[2]! }
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
  return `${insert.head} FROM INFILE ${quote(path)} FORMAT ${insert.format}`
}

/** Whether it takes a place among the writes. Reads are recognised; all else counts as a write. */
export function isWrite(sql: string): boolean {
  const text = sql.replace(COMMENTS, '')
  return !/^(?:\(\s*)*(?:SELECT|WITH|SHOW|DESC|DESCRIBE|EXISTS|EXPLAIN|CHECK)\b/i.test(text)
}
