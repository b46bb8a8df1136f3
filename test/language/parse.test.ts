/**
 * Goal: each form of the language is read as docs/language.md says, and each node has its position.
 * Method: literal tables: a query beside its canonical text, or beside its tree where the canonical
 * text does not show the difference.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, withoutSpans } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'
import type { Query } from '../../src/language/query-tree.ts'
import {
  QUERY_CLAUSES_MAX,
  QUERY_LEVELS_MAX,
  QUERY_REGEX_BYTES_MAX,
  QUERY_TEXT_BYTES_MAX,
  QUERY_WILDCARDS_MAX,
} from '../../src/limits.ts'

const CANONICAL = [
  ['', '*'],
  [' \t\u00a0', '*'],
  ['*', '*'],
  ['*:*', '*'],
  ['_exists_:*', '*'],
  ['level:error', 'level:error'],
  ['level : "error"', 'level:"error"'],
  ['a b', 'a AND b'],
  ['a and b && c AND d', 'a AND b AND c AND d'],
  ['a or b || c OR d', 'a OR b OR c OR d'],
  ['a OR b c', 'a OR b AND c'],
  ['(a OR b) c', '(a OR b) AND c'],
  ['((a))', 'a'],
  ['a (b c)', 'a AND b AND c'],
  ['NOT a', 'NOT a'],
  ['not a', 'NOT a'],
  ['!a', 'NOT a'],
  ['-a', 'NOT a'],
  ['NOT NOT a', 'a'],
  ['NOT -(NOT a)', 'NOT a'],
  ['NOT a b', 'NOT a AND b'],
  ['NOT (a b)', 'NOT (a AND b)'],
  ['a - b', 'a AND - AND b'],
  ['order:5', 'order:5'],
  ['and:5 not=x', 'and:5 AND not=x'],
  // Comparisons and ranges.
  ['status >= 500', 'status>=500'],
  ['status:>=500', 'status>=500'],
  ['status = 500', 'status=500'],
  ['status:=500', 'status=500'],
  ['status != 500', 'NOT status=500'],
  ['status:[500 TO *]', 'status>=500'],
  ['status:{* TO 500}', 'status<500'],
  ['status:[* TO *]', 'status:*'],
  ['f:[1 TO 5}', 'f:[1 TO 5}'],
  ['f:{ "a" TO b ]', 'f:{"a" TO b]'],
  ['x:>2026-01-01T00:00:00Z', 'x>2026-01-01T00:00:00Z'],
  ['x:>"2026-01-01T00:00:00Z"', 'x>"2026-01-01T00:00:00Z"'],
  // Lists.
  ['level:(error OR warn)', 'level:(error OR warn)'],
  ['level:(error warn)', 'level:(error OR warn)'],
  ['status:(>=500 404)', 'status:(>=500 OR 404)'],
  ['status:(200,404)', 'status:(200 OR 404)'],
  ['tags:(a AND b)', 'tags:(a AND b)'],
  ['tags:(a AND b c)', 'tags:(a AND b) OR tags:c'],
  ['tags:(NOT a)', 'NOT tags:a'],
  ['level:(=a OR !=b)', 'level=a OR NOT level=b'],
  ['x:(a (b AND c))', 'x:a OR x:(b AND c)'],
  ['level:error OR level:warn', 'level:(error OR warn)'],
  // Fields.
  ['_exists_:user.id', 'user.id:*'],
  ['_exists_:"user.id"', 'user.id:*'],
  ['@timestamp:* $x:1 über:1', '@timestamp:* AND $x:1 AND über:1'],
  ['k8s.io/app#1-x:5', 'k8s.io/app#1-x:5'],
  ['`my field`.x:1', '`my field.x`:1'],
  ['`a.b`:1', 'a.b:1'],
  ['`a\\`b\\\\`:1', '`a\\`b\\\\`:1'],
  ['`_id`:x', '`_id`:x'],
  ['tags[]:x', 'tags[]:x'],
  ['items[].price:>4', 'items[].price>4'],
  ['a.b[].c.d[].e:1', 'a.b[].c.d[].e:1'],
  ['`a[]`:1', '`a[]`:1'],
  ['tags.0:x', 'tags.0:x'],
  ['http.*:x', 'http.*:x'],
  ['items[].*:x', 'items[].*:x'],
  ['*:x', '*:x'],
  ['items[]:{price>4 name:x}', 'items[]:{price>4 AND name:x}'],
  ['items[]:{a:1 OR tags[]:{b:2}}', 'items[]:{a:1 OR tags[]:{b:2}}'],
  ['items[]:{_id:x}', 'items[]:{`_id`:x}'],
  ['items[]:(a OR {b:1})', 'items[]:a OR items[]:{b:1}'],
  ['items[]:{price:[1 TO 5]}', 'items[]:{price:[1 TO 5]}'],
  ['tags[]:{a\\:b TO c}', 'tags[]:{a\\:b TO c}'],
  ['tags[]:{1 TO 5}', 'tags[]:{1 TO 5}'],
  // Values.
  ['f:a* f:*b f:a?b', 'f:(a* AND *b AND a?b)'],
  ['f:a**b', 'f:a*b'],
  ['f:**', 'f:*'],
  ['f:a\\*b', 'f:a\\*b'],
  ['f:"a*b"', 'f:"a*b"'],
  ['f:-5', 'f:-5'],
  ['f:a:b:c', 'f:a:b:c'],
  ['f:C:\\temp\\x', 'f:C:\\\\temp\\\\x'],
  ['foo\\ bar', 'foo\\ bar'],
  ['"a \\"b\\" \\\\ \\n\\u00e9"', '"a \\"b\\" \\\\ \\né"'],
  ['f:""', 'f:""'],
  // Regular expressions.
  ['f:/a b/', 'f:/a b/'],
  ['/err(or)?/i', '/err(or)?/i'],
  ['path:/^\\/api\\/v1/', 'path:/^\\/api\\/v1/'],
  ['path:/api/v1/x', 'path:/api/v1/x'],
  ['(f:/a/)', 'f:/a/'],
  ['f:(/a/,/b/)', 'f:(/a/ OR /b/)'],
  // Pasted text.
  ['12:30:01', '12:30:01'],
  ['http://x:80/y', 'http://x:80/y'],
  ['see http://x:80/y', 'see AND http://x:80/y'],
  ['std::vector', 'std::vector'],
  ['ip:::1', 'ip:::1'],
  ['[INFO] done', '\\[INFO\\] AND done'],
  ["don't", "don't"],
  ['f(x)', 'f AND x'],
  ['a, b', 'a\\, AND b'],
  // System fields.
  ['_id:3706387219251200000-17', '_id:3706387219251200000-17'],
  ['_level:ERROR', '_level:error'],
  ['_level:>=WARN', '_level>=warn'],
  ['_shape:00FF00FF00FF00FF', '_shape:00ff00ff00ff00ff'],
  ['_pattern:00FF00FF00FF00FF', '_pattern:00ff00ff00ff00ff'],
  ['_service:web-*', '_service:web-*'],
  ['_event_time:[2026-01-01T00:00:00Z TO *]', '_event_time>=2026-01-01T00:00:00Z'],
] as const

for (const [text, canonical] of CANONICAL) {
  test(`${JSON.stringify(text)} is ${canonical}`, () => {
    const query = parse(text)
    assert.equal(format(query), canonical)
    assert.equal(withoutSpans(parse(canonical)), withoutSpans(query))
  })
}

test('values have the right kind', () => {
  const kindOf = (text: string) => {
    const query = parse(`f:${text}`)
    assert(query.kind === 'field' && query.test.kind === 'value')
    return query.test.value.kind
  }
  const numbers = ['0', '-0', '12', '-1.50', '1e9', '2E-3', '18446744073709551616']
  const strings = ['"12"', '007', '+1', '.5', '5.', '1e', '0x10', 'NaN', 'True', '"true"', '1,000']
  assert.deepEqual(numbers.map(kindOf), Array(numbers.length).fill('number'))
  assert.deepEqual(strings.map(kindOf), Array(strings.length).fill('string'))
  assert.deepEqual(['true', 'false'].map(kindOf), ['boolean', 'boolean'])
})

test('digits and nanoseconds are kept', () => {
  const query = parse('f:[12345678901234567890.10 TO 99999999999999999999]')
  assert(query.kind === 'field' && query.test.kind === 'range')
  assert.equal(query.test.of, 'number')
  assert.equal(query.test.low?.value.text, '12345678901234567890.10')
  const time = parse('f:>2026-01-01T01:00:00.123456789+01:00')
  assert(time.kind === 'field' && time.test.kind === 'range')
  assert.equal(time.test.of, 'time')
  assert.equal(time.test.low?.value.timeNs, 1_767_225_600_123_456_789n)
})

test('one moment of a system field is a range', () => {
  const query = parse('_event_time:2026-01-01T00:00:00Z')
  assert(query.kind === 'field' && query.test.kind === 'range')
  assert.deepEqual(query.test.low, query.test.high)
  assert.equal(withoutSpans(parse(format(query))), withoutSpans(query))
})

/** Each node's text, outermost first. */
function textsOf(text: string): string[] {
  const texts: string[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    else if (typeof value === 'object' && value !== null) {
      const { start, end } = value as { start?: number; end?: number }
      if (start !== undefined && end !== undefined) texts.push(text.slice(start, end))
      for (const each of Object.values(value)) visit(each)
    }
  }
  visit(parse(text))
  return texts
}

test('each node knows its position', () => {
  assert.deepEqual(textsOf(' a.b : "x" '), ['a.b : "x"', 'a.b', '"x"', '"x"'])
  assert.deepEqual(textsOf('f:>=5'), ['f:>=5', 'f', '>=5', '5'])
  assert.deepEqual(textsOf('x OR -y'), ['x OR -y', 'x', 'x', 'x', '-y', 'y', 'y', 'y'])
  assert.deepEqual(textsOf('😀 f:[1 TO 2]').slice(-5), ['f:[1 TO 2]', 'f', '[1 TO 2]', '1', '2'])
  assert.deepEqual(textsOf('a[]:{b:/c/}'), ['a[]:{b:/c/}', 'a[]', 'b:/c/', 'b', '/c/'])
})

const accepts = (text: string): Query => parse(text)
const rejects = (text: string, name: string) =>
  assert.throws(
    () => parse(text),
    (error) => error instanceof QueryError && error.message.includes(name),
  )

test('the text is bounded in bytes', () => {
  accepts('x'.repeat(QUERY_TEXT_BYTES_MAX))
  rejects('x'.repeat(QUERY_TEXT_BYTES_MAX + 1), 'QUERY_TEXT_BYTES_MAX')
  accepts('é'.repeat(QUERY_TEXT_BYTES_MAX / 2))
  rejects(`${'é'.repeat(QUERY_TEXT_BYTES_MAX / 2)}x`, 'QUERY_TEXT_BYTES_MAX')
  accepts('😀'.repeat(QUERY_TEXT_BYTES_MAX / 4))
  rejects(`${'😀'.repeat(QUERY_TEXT_BYTES_MAX / 4)}x`, 'QUERY_TEXT_BYTES_MAX')
})

test('levels are bounded', () => {
  const groups = (count: number) => `${'('.repeat(count)}a${')'.repeat(count)}`
  accepts(groups(QUERY_LEVELS_MAX))
  rejects(groups(QUERY_LEVELS_MAX + 1), 'QUERY_LEVELS_MAX')
  const elements = (count: number) => `${'a[]:{'.repeat(count)}a:1${'}'.repeat(count)}`
  accepts(elements(QUERY_LEVELS_MAX))
  rejects(elements(QUERY_LEVELS_MAX + 1), 'QUERY_LEVELS_MAX')
  const lists = (count: number) => `f:${'('.repeat(count)}a${')'.repeat(count)}`
  accepts(lists(QUERY_LEVELS_MAX))
  rejects(lists(QUERY_LEVELS_MAX + 1), 'QUERY_LEVELS_MAX')
  accepts(`${groups(QUERY_LEVELS_MAX)} `.repeat(8))
})

test('clauses are bounded', () => {
  accepts('a '.repeat(QUERY_CLAUSES_MAX))
  rejects('a '.repeat(QUERY_CLAUSES_MAX + 1), 'QUERY_CLAUSES_MAX')
  rejects(`f:(${'a,'.repeat(QUERY_CLAUSES_MAX)}a)`, 'QUERY_CLAUSES_MAX')
})

test('wildcards are bounded, in fields too', () => {
  accepts(`f:${'a*'.repeat(QUERY_WILDCARDS_MAX)}`)
  rejects(`f:${'a?'.repeat(QUERY_WILDCARDS_MAX + 1)}`, 'QUERY_WILDCARDS_MAX')
  accepts('*:x '.repeat(QUERY_WILDCARDS_MAX))
  rejects('a.*:x '.repeat(QUERY_WILDCARDS_MAX + 1), 'QUERY_WILDCARDS_MAX')
  accepts('f:* '.repeat(QUERY_WILDCARDS_MAX + 1))
})

test('regular expressions are bounded in bytes', () => {
  accepts(`/${'a'.repeat(QUERY_REGEX_BYTES_MAX)}/`)
  rejects(`/${'a'.repeat(QUERY_REGEX_BYTES_MAX + 1)}/`, 'QUERY_REGEX_BYTES_MAX')
  rejects(`/${'é'.repeat(QUERY_REGEX_BYTES_MAX / 2)}a/`, 'QUERY_REGEX_BYTES_MAX')
})
