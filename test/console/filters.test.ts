/**
 * Goal: a filter that is made by clicking a value finds the events that have it: always valid, with
 * any name and value, added once, and taken back whole.
 * Method: clauses of random payloads, judged by the reference evaluator of the language's tests.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonMembers, wholeJson } from '../../console/base/exact-json.ts'
import {
  clauseFor,
  hasClause,
  systemClause,
  withClause,
  withoutClause,
} from '../../console/explore/filters.ts'
import { highlight } from '../../console/explore/highlight.ts'
import { format, quote } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'

const json = (value: unknown) => wholeJson(JSON.stringify(value))

test('clauses by the kind of the value', () => {
  const text = (path: string, value: unknown) => {
    const clause = clauseFor(path, value === undefined ? undefined : json(value))
    return clause && format(clause)
  }
  assert.equal(text('status', 200), 'status=200')
  assert.equal(text('status', '200'), 'status="200"')
  assert.equal(text('ok', true), 'ok=true')
  assert.equal(text('gone', null), 'NOT gone:*')
  assert.equal(text('gone', undefined), 'NOT gone:*')
  assert.equal(text('items[].price', 4), 'items[].price=4')
  assert.equal(text('tags[]', 'a'), 'tags[]="a"')
  assert.equal(text('o', {}), undefined)
  for (const name of ['@`', '^`a', ':`T`', 'a.:`T`', 'a[].@`b']) {
    assert.equal(text(name, 0), undefined, name)
  }
  const digits = clauseFor('n', wholeJson('12345678901234567890'))
  assert.equal(format(digits!), 'n=12345678901234567890')
})

test('any name and value gives a query that parses to the same clause', () => {
  const any = fc.string({ minLength: 1 }).filter((text) => !/[.[\]\0]/.test(text))
  const name = fc.oneof(any, fc.stringMatching(/^[@^:]`a?$/), any)
  const value = fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true }), fc.boolean())
  fc.assert(
    fc.property(name, value, (path, example) => {
      const payload = json({ [path]: example })
      const [member] = jsonMembers(payload)
      const clause = clauseFor(path, member!.value)
      if (clause === undefined) return assert.throws(() => parse(`${quote(path)}:*`), QueryError)
      const text = withClause('level:error', clause, false)
      assert.equal(format(parse(text)), `level:error AND ${format(clause)}`)
      assert.equal(hasClause(text, clause), 'included')
      assert.equal(withClause(text, clause, false), text)
      assert.equal(withoutClause(text, clause), 'level:error')
      const excluded = withClause('', clause, true)
      assert.equal(hasClause(excluded, clause), 'excluded')
      assert.equal(withoutClause(excluded, clause), '')
    }),
  )
})

test('what was typed stays, and is put in brackets where it must be', () => {
  const clause = systemClause('_level', 'error')
  assert.equal(withClause('a:1 OR b:2', clause, false), '(a:1 OR b:2) _level:error')
  assert.equal(withClause('a:1   b:2', clause, true), 'a:1   b:2 NOT _level:error')
  assert.equal(withClause('a:(', clause, false), 'a:(')
  assert.equal(hasClause('a:(', clause), undefined)
})

test('highlighted parts are together the text, whatever is typed', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a:()"/ *.[\]]*$/)), (text) => {
      const { parts } = highlight(text)
      assert.equal(parts.map((part) => part.text).join(''), text)
    }),
  )
  const { parts, error } = highlight('level:error (x')
  assert.ok(error)
  assert.equal(parts.filter(({ kind }) => kind === 'fault').length, 1)
})
