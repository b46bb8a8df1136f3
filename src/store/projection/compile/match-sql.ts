/**
 * Regular expressions in SQL. Before RE2 reads a text, the engine looks for letters that every
 * match must have, which it takes from the expression by itself. It gets some of them wrong, and
 * loses matches: it takes characters for bytes, so `é?` asks for the first byte of é, and it takes
 * the first `]` of a class for its end, and each `[` in one for a class of its own.
 */
import type { SqlParams } from './sql-params.ts'

/** The condition that RE2 finds `source` in `sql`; `.` is any character. */
export function matchSql(sql: string, source: string, params: SqlParams): string {
  // Where case may be ignored the engine looks for no letters; nothing in the group ignores it.
  const read = isMisread(source) ? `(?i-i:${source})` : source
  return `match(${sql}, ${params.add('String', read)})`
}

/** Whether the engine may look for letters that a match need not have. */
export function isMisread(source: string): boolean {
  if (/[^\0-\x7f][*?{]/u.test(source)) return true
  let isInClass = false
  for (let at = 0; at < source.length; at++) {
    const char = source[at]
    if (char === '\\') at++
    else if (char === '[') {
      const isNested = isInClass
      isInClass = true
      if (source[at + 1] === '^') at++
      if (isNested || source[at + 1] === ']') return true
    } else if (char === ']') isInClass = false
  }
  return false
}
