/**
 * Goal: a fault is reported at its column, with what to write instead, above all habits from other
 * languages.
 * Method: a table of texts and their errors.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'

const MISTAKES = [
  ['message:"abc', 9, 'missing `"`, opened here'],
  ['`abc', 1, 'missing a backquote, opened here'],
  ['level=error AND', 16, 'expected a clause after `AND`'],
  ['level=error or ', 16, 'expected a clause after `or`'],
  ['x OR AND y', 6, 'expected a clause before `AND`'],
  ['NOT', 4, 'expected a clause after `NOT`'],
  ['AND x', 1, 'expected a clause before `AND`'],
  ['()', 2, 'expected a clause before `)`'],
  ['status:', 8, 'write status:* for any value'],
  ['status: AND b', 9, 'expected a value for `status`'],
  ['status:not b', 8, 'write NOT status:value'],
  ['status>=', 9, 'expected a value for `status`'],
  ['(a OR b', 8, 'missing `)`, opened at column 1'],
  ['(a f:(b, c) d', 14, 'missing `)`, opened at column 1'],
  ['f:(a', 5, 'missing `)`, opened at column 3'],
  ['f:(a AND )', 10, 'expected a value for `f`'],
  ['a) b', 2, '`)` closes nothing'],
  ['a[]:{b:1', 9, 'missing `}`, opened at column 5'],
  ['a:{b:1}', 3, 'write a[]:{…}'],
  ['a[]:{b}', 6, 'expected a field before `b`'],
  ['field:[1 TO', 12, 'expected a bound in the range opened at column 7'],
  ['field:[1', 9, 'expected ` TO ` in the range opened at column 7'],
  ['field:[1 TO 5', 14, 'missing `]` or `}`, opened at column 7'],
  ['field:[1 to 5]', 10, 'expected ` TO `'],
  ['field:[1,5]', 11, 'a range is [low TO high]'],
  ['f:[1 TO abc]', 9, 'a range from a number to text'],
  ['f:>=a*', 5, 'quote a value that holds them'],
  ['f:=(a b)', 4, 'write f:(a OR b)'],
  ['foo~', 4, 'use wildcards'],
  ['foo~2 bar', 4, '(fuzzy search) is not supported'],
  ['"a b"~3', 6, '(fuzzy search) is not supported'],
  ['f:foo^3', 6, '(boost) is not supported'],
  ['(a OR b)^2', 9, '(boost) is not supported'],
  ['+foo -bar', 1, '`+` is not needed'],
  ['f:/(?=x)/', 3, 'RE2 has no lookahead'],
  ['f:/(?<!x)y/', 3, 'RE2 has no lookbehind'],
  ['f:/(a)\\1/', 3, 'RE2 has no backreferences'],
  ['/(a/', 1, 'missing `)`'],
  ['/a++/', 1, '`+` repeats nothing'],
  ['{app="x"} |= "y"', 1, 'write app="x"'],
  ['app="x" |= "y"', 9, 'a line filter is a clause'],
  ['error | stats count', 7, '`|` is reserved'],
  ['a|b', 2, 'for alternatives write OR'],
  ['level == error', 7, 'write `=`'],
  ['level =~ "x"', 7, 'field:/re/'],
  ['level !~ "x"', 7, 'NOT field:/re/'],
  ['level <> 3', 7, 'write `!=`'],
  ['!= "healthz"', 1, 'write NOT word'],
  ['where x = 1', 1, 'leave WHERE out'],
  ['SELECT * FROM x WHERE y = 1', 1, 'this is not SQL'],
  ['status IN (200, 404)', 1, 'write status:(a OR b)'],
  ["name NOT LIKE '%x%'", 1, 'write NOT name:*text*'],
  ['x IS NULL', 1, 'write NOT x:*'],
  ['x BETWEEN 1 AND 2', 1, 'write x:[low TO high]'],
  ["x = 'abc'", 5, 'write "abc"'],
  ['f:!x', 3, 'write NOT f:value'],
  [': x', 1, 'expected a field before `:`'],
  ['a => b', 4, 'expected a value after `=`'],
  ['x AND >= 5', 7, 'expected a field before `>`'],
  ['a""', 2, 'an empty phrase finds nothing'],
  ['x\\', 2, 'write `\\\\` for a backslash'],
  ['_exists_:', 10, 'expected a field after `_exists_:`'],
  ['``:x', 1, 'not a path that can be queried'],
  ['_id:x', 5, '`_id` takes an event id'],
  ['_level:warning', 8, 'trace, debug, info, warn, error, fatal'],
  ['_event_time:>5', 13, 'a date-time such as'],
  ['_shape:>0', 8, '16 hex digits'],
  ['_pattern:abc', 10, '16 hex digits'],
  ['😀 a)', 5, '`)` closes nothing'],
] as const

for (const [text, column, part] of MISTAKES) {
  test(`${text}: ${part}`, () => {
    assert.throws(
      () => parse(text),
      (error) => {
        assert(error instanceof QueryError)
        assert.ok(error.message.startsWith(`column ${column}: `), error.message)
        assert.ok(error.message.includes(part), error.message)
        assert.equal(error.column, column)
        assert.ok(error.start === column - 1 && error.end >= error.start)
        return true
      },
    )
  })
}

test('text that only looks like a mistake is accepted', () => {
  for (const text of [
    'the value is null',
    'where is it',
    'select one from many',
    'a.~ and ~/x',
    'a^b x^',
    '+49 30 1234',
    "can't and won't",
    'look in (here)',
  ]) {
    assert.doesNotThrow(() => parse(text), text)
  }
})
