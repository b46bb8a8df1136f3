/**
 * A query's canonical text: the same tree always gives the same text, and that text parses to the
 * same tree (unless it exceeds `QUERY_TEXT_BYTES_MAX`, which a text near that limit may do).
 *
 * A word is written with as few backslashes as possible. The rules of the parser are not repeated
 * here: the short form is parsed, and when that gives another tree, every special character gets a
 * backslash.
 */

import { QUERY_LEVELS_MAX } from './bounds.ts'
import { continuesField, isAlphanumeric, isSpace, startsField } from './characters.ts'
import { parse } from './parse.ts'
import type {
  Bound,
  Clause,
  Conjunction,
  Field,
  FieldClause,
  Pattern,
  PatternToken,
  Query,
  RangeTest,
  Scalar,
  Test,
} from './query-tree.ts'
import { SYSTEM_FIELDS } from './query-tree.ts'
import { visibleText } from './visible-text.ts'

export function format(query: Query): string {
  return write(query, 0)
}

/** `level`: how many brackets are around it. */
function write(query: Query, level: number): string {
  switch (query.kind) {
    case 'all':
      return '*'
    case 'and':
    case 'or':
      return writeConjunction(query, level).join(query.kind === 'and' ? ' AND ' : ' OR ')
    case 'not':
      return `NOT ${writeOperand(query.clause, level)}`
    case 'element':
      return `${writeField(query.field)}:{${write(query.query, level + 1)}}`
    case 'field':
    case 'text':
      return writeClause(query)
  }
}

/** An operand that binds weaker than its surroundings: in brackets, unless it is one list. */
function writeOperand(query: Query, level: number): string {
  if (query.kind !== 'and' && query.kind !== 'or') return write(query, level)
  // Checked before writing: to write it twice would double the work with each level.
  const isOneList = runAt(query, 0, level).length === query.clauses.length
  return isOneList ? write(query, level) : `(${write(query, level + 1)})`
}

/** The texts of its clauses; consecutive clauses about one field become a list. */
function writeConjunction(conjunction: Conjunction, level: number): string[] {
  const { kind, clauses } = conjunction
  const texts: string[] = []
  for (let at = 0; at < clauses.length; ) {
    const run = runAt(conjunction, at, level)
    if (run.length > 1) {
      texts.push(writeList(run, kind === 'and' ? ' AND ' : ' OR '))
      at += run.length
    } else {
      const clause = clauses[at++]!
      // Only an `or` in an `and` needs brackets.
      texts.push(kind === 'and' ? writeOperand(clause, level) : write(clause, level))
    }
  }
  return texts
}

/** The clauses from `start` that are about one field, if they may be written as a list. */
function runAt({ clauses }: Conjunction, start: number, level: number): FieldClause[] {
  if (level >= QUERY_LEVELS_MAX) return []
  const run: FieldClause[] = []
  let name: string | undefined
  for (let at = start; at < clauses.length; at++) {
    const clause = clauses[at]!
    if (clause.kind !== 'field') break
    const field = writeField(clause.field)
    if ((name ??= field) !== field) break
    run.push(clause)
  }
  return run
}

function writeList(run: readonly FieldClause[], operator: string): string {
  const name = writeField(run[0]!.field)
  const tests = run.map((clause) => {
    const text = writeClause(clause).slice(name.length)
    return text[0] === ':' ? text.slice(1) : text
  })
  return `${name}:(${tests.join(operator)})`
}

function writeClause(clause: Exclude<Clause, { kind: 'element' }>): string {
  const name = clause.kind === 'field' ? writeField(clause.field) : ''
  const short = name + writeTest(clause.test, escapeShort, clause.kind === 'field')
  return isReadAs(short, clause)
    ? short
    : name + writeTest(clause.test, escapeAll, clause.kind === 'field')
}

function isReadAs(text: string, clause: Query): boolean {
  try {
    return isSameQuery(parse(text), clause)
  } catch {
    return false // It means something else here, or nothing.
  }
}

type Escape = (text: string) => string

function writeTest(test: Test, escaped: Escape, hasField: boolean): string {
  const colon = hasField ? ':' : ''
  switch (test.kind) {
    case 'exists':
      return `${colon}*`
    case 'value':
      return `${test.isWhole && hasField ? '=' : colon}${writeScalar(test.value, escaped)}`
    case 'wildcard':
      return `${test.isWhole && hasField ? '=' : colon}${writePattern(test.pattern, escaped)}`
    case 'regex':
      return `${colon}/${escapeSlashes(test.source)}/${test.ignoreCase ? 'i' : ''}`
    case 'range':
      return writeRange(test, escaped)
  }
}

function writeRange({ low, high }: RangeTest, escaped: Escape): string {
  const scalar = (bound: Bound | undefined) => writeScalar(bound!.value, escaped)
  if (high === undefined) return `${low?.isInclusive === true ? '>=' : '>'}${scalar(low)}`
  if (low === undefined) return `${high.isInclusive ? '<=' : '<'}${scalar(high)}`
  const [open, close] = [low.isInclusive ? '[' : '{', high.isInclusive ? ']' : '}']
  return `:${open}${scalar(low)} TO ${scalar(high)}${close}`
}

function writeScalar({ text, isQuoted }: Scalar, escaped: Escape): string {
  return isQuoted ? quote(text) : escaped(text)
}

function writePattern(pattern: Pattern, escaped: Escape): string {
  const write = (token: PatternToken) =>
    token.kind === 'literal' ? escaped(token.text) : token.kind === 'many' ? '*' : '?'
  return pattern.map(write).join('')
}

const QUOTED_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Quoted text, as it is written in a query. What would not be seen in it has its escape. */
export function quote(text: string): string {
  const escaped = text.replace(/["\\\n\r\t]/g, (char) => QUOTED_ESCAPES[char] ?? `\\${char}`)
  return `"${visibleText(escaped)}"`
}

/**
 * Escapes wildcards and whatever ends a word somewhere. Also a first slash, where text after the
 * word could close it and make it a regular expression.
 */
function escapeShort(text: string): string {
  const escaped = text.replace(/[\s()"|\\,{}[\]*?]/g, '\\$&')
  return /^\/[^/]*\/?$/.test(text) ? `\\${escaped}` : escaped
}

function escapeAll(text: string): string {
  let escaped = ''
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const isPlain = code >= 0x80 ? !isSpace(code) : isAlphanumeric(code)
    escaped += isPlain ? text[at] : `\\${text[at]}`
  }
  return escaped
}

function escapeSlashes(source: string): string {
  return source.replace(/\\[\s\S]|\//g, (found) => (found === '/' ? '\\/' : found))
}

/** A field, as it is written in a query. */
export function writeField(field: Field): string {
  switch (field.kind) {
    case 'any':
      return '*'
    case 'system':
      return field.name
    case 'below':
      return `${writeParts(field.parts)}.*`
    case 'path':
      return writeParts(field.parts)
  }
}

const SPECIAL = new Set<string>([...SYSTEM_FIELDS, '_exists_'])

function writeParts(parts: readonly string[]): string {
  if (parts.length === 1 && SPECIAL.has(parts[0]!)) return `\`${parts[0]}\``
  return parts
    .map((part, index) => `${index > 0 && part !== '' ? '.' : ''}${writePath(part)}`)
    .join('[]')
}

function writePath(path: string): string {
  if (path === '' || (path.split('.').every(isPlainSegment) && visibleText(path) === path)) {
    return startsField(path.charCodeAt(0)) || path === '' ? path : backquote(path)
  }
  return backquote(path)
}

function isPlainSegment(segment: string): boolean {
  for (let at = 0; at < segment.length; at++) {
    if (!continuesField(segment.charCodeAt(at))) return false
  }
  const first = segment.charCodeAt(0)
  return startsField(first) || isAlphanumeric(first)
}

/** In backquotes only `\u` is an escape, as names may be paths of Windows. */
function backquote(path: string): string {
  const escaped = visibleText(path.replace(/[`\\]/g, '\\$&'))
  return `\`${escaped.replaceAll('\n', '\\u000a').replaceAll('\t', '\\u0009')}\``
}

/** Whether two trees are the same apart from their positions in the texts. */
export function isSameQuery(a: Query, b: Query): boolean {
  return withoutSpans(a) === withoutSpans(b)
}

/** A tree as text, without positions. */
export function withoutSpans(query: Query): string {
  return JSON.stringify(query, (key, value: unknown) => {
    if (key === 'start' || key === 'end') return undefined
    return typeof value === 'bigint' ? String(value) : value
  })
}
