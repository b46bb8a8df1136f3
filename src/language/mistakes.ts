/** What people write from habit of other languages, and what to write instead. */
import { isAlphanumeric, startsField } from './characters.ts'
import { QueryError } from './query-error.ts'
import type { QueryReader } from './query-reader.ts'
import { skipSpace, tryScanField } from './scan.ts'

/** Call it where a clause must begin. Undefined when a clause can begin like this. */
export function findMistakenClause(reader: QueryReader): QueryError | undefined {
  const { text, at, operator } = reader
  const rest = text.slice(at, at + 2)
  const char = rest[0]
  const keyword = reader.peekKeyword()
  if (reader.isAtEnd || char === ')' || (char === '}' && reader.ends.atBrace)) {
    if (operator !== undefined) {
      return reader.fail(
        `expected a clause after \`${operator}\``,
        'add one, or remove the operator',
      )
    }
    if (char === ')')
      return reader.fail('expected a clause before `)`', 'write `"()"` for the text')
    return reader.fail('expected a clause', 'e.g. level:error')
  }
  if (keyword !== undefined && keyword.kind !== 'not') {
    const { length } = keyword.text
    return reader.fail(`expected a clause before \`${keyword.text}\``, 'or quote the word', length)
  }
  if (char === '|') return mistakenBar(reader)
  if (char === '{') {
    return reader.fail(
      'a clause cannot begin with `{`',
      'selectors have no braces: write app="x" level="y"; quote text that holds a brace',
    )
  }
  if (char === ':' || char === '=' || char === '<' || char === '>') {
    return reader.fail(
      `expected a field before \`${char}\``,
      'write field:value, or quote text that begins like this',
    )
  }
  if (rest === '!=') {
    return reader.fail('expected a field before `!=`', 'write NOT word, or field!=value', 2)
  }
  return undefined
}

function mistakenBar(reader: QueryReader): QueryError {
  const isFilter = /^\|[=~>]/.test(reader.text.slice(reader.at, reader.at + 2))
  const repair = isFilter
    ? 'a line filter is a clause: write "text" or /regex/ without it'
    : 'for alternatives write OR; a query does not aggregate; quote text that holds `|`'
  return reader.fail('`|` is reserved', repair)
}

/** What other languages write for our `=`, `!=`, `:/re/`. */
const OPERATORS: Readonly<Record<string, string>> = {
  '==': 'write `=`',
  '=~': 'a regular expression is written field:/re/',
  '!~': 'a regular expression is written NOT field:/re/',
  '<>': 'write `!=`',
}

/** Call it at an operator after a field. */
export function findMistakenOperator(reader: QueryReader): QueryError | undefined {
  const two = reader.text.slice(reader.at, reader.at + 2)
  const repair = OPERATORS[two]
  return repair === undefined ? undefined : reader.fail(`\`${two}\` is not an operator`, repair, 2)
}

/** Call it where the value of a field must begin. `field` is the field's text. */
export function findMistakenValue(reader: QueryReader, field: string): QueryError | undefined {
  const { text, at } = reader
  const char = text[at]
  const keyword = reader.peekKeyword()
  const isAtClose = reader.isAtClose()
  if (isAtClose || (char === ',' && reader.ends.atComma) || keyword !== undefined) {
    const isNot = keyword?.kind === 'not' && !isAtClose
    const repair = isNot
      ? `write NOT ${field}:value`
      : `write ${field}:* for any value, or quote the text`
    return reader.fail(`expected a value for \`${field}\``, repair)
  }
  if (char === '|') return mistakenBar(reader)
  if (char === '!') {
    return reader.fail('a value cannot begin with `!`', `write NOT ${field}:value, or quote it`)
  }
  if (char === "'" && text.indexOf("'", at + 1) >= 0) {
    const end = text.indexOf("'", at + 1)
    const inner = text.slice(at + 1, end)
    const repair = `write "${inner.length > 40 ? '…' : inner}"`
    return reader.fail('text is quoted by `"`', repair, end + 1 - at)
  }
  return undefined
}

/** Call it after a word without a field, which begins at `start`. */
export function findMistakenWord(reader: QueryReader, start: number): QueryError | undefined {
  const { text, at } = reader
  const raw = text.slice(start, at)
  const span = { start, end: at }
  if (
    raw[0] === '+' &&
    (raw.length === 1 ? /["(]/.test(text[at] ?? '') : startsField(raw.charCodeAt(1)))
  ) {
    return new QueryError(span, '`+` is not needed', 'all clauses must hold unless OR joins them')
  }
  if (/^where$/i.test(raw) && isComparisonAt(text, at)) {
    return new QueryError(span, 'this is not SQL', 'leave WHERE out and begin with the condition')
  }
  if (/^select$/i.test(raw) && text.slice(0, start).trim() === '' && SQL_SELECT.test(text)) {
    return new QueryError(span, 'this is not SQL', 'write only the condition: what follows WHERE')
  }
  const sql = SQL_TEST.exec(text.slice(at, at + 32))
  if (sql === null || !startsField(raw.charCodeAt(0))) return findMistakenSuffix(reader, start)
  return new QueryError(
    { start, end: at + sql[0].length },
    'this is not SQL',
    sqlRepair(raw, sql[0]),
  )
}

/** Does not match what the printer writes, since that joins all words by operators. */
const SQL_SELECT =
  /^\s*select\s+(?!AND\b|OR\b)(?:\*\s|.*\sfrom\s+\S+\s+(?:where|order|limit|group)\b)/is
const SQL_TEST = /^\s+(?:NOT\s+)?(?:IN\s*\(|I?LIKE\s*['"]|IS\s+(?:NOT\s+)?NULL\b|BETWEEN\s)/

function sqlRepair(raw: string, test: string): string {
  const not = /\bNOT\b/.test(test) ? 'NOT ' : ''
  if (/\bIN\b/.test(test)) return `write ${not}${raw}:(a OR b)`
  if (/LIKE/.test(test)) return `write ${not}${raw}:*text*`
  if (/NULL/.test(test)) return `write ${not === '' ? 'NOT ' : ''}${raw}:*`
  return `write ${not}${raw}:[low TO high]`
}

function isComparisonAt(text: string, at: number): boolean {
  const start = skipSpace(text, at)
  const field = tryScanField(text, start)
  if (field === undefined || /^(?:AND|OR)\s/i.test(text.slice(start, start + 4))) return false
  return /^\s*(?:[=<>:]|!=|LIKE|IN\b|IS\b)/.test(text.slice(field.end, field.end + 32))
}

/** Lucene's `word~2` and `word^3`. Call it at the end of a word, quoted text or a group. */
export function findMistakenSuffix(reader: QueryReader, start: number): QueryError | undefined {
  const { text, at } = reader
  const raw = text.slice(start, at)
  const isClosed = /[")]$/.test(raw)
  const suffix = isClosed
    ? /^[~^][0-9.]*/.exec(text.slice(at, at + 8))?.[0]
    : /(?:~[0-9.]*|\^[0-9.]+)$/.exec(raw.slice(-8))?.[0]
  if (suffix === undefined) return undefined
  const from = isClosed ? at : at - suffix.length
  if (!isClosed && !isAlphanumeric(text.charCodeAt(from - 1))) return undefined
  const span = { start: from, end: from + suffix.length }
  return suffix[0] === '~'
    ? new QueryError(
        span,
        '`~` (fuzzy search) is not supported',
        'use wildcards: wor*, w?rd; or quote it',
      )
    : new QueryError(span, '`^` (boost) is not supported', 'leave it out: events are not ranked')
}
