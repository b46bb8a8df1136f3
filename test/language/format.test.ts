/**
 * Goal: a canonical text has the meaning of its query, and is canonical itself.
 * Method: properties over random queries, over random texts that happen to be queries, and over
 * words that need escapes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { format, withoutSpans } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'
import type { Query } from '../../src/language/query-tree.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { anyText, queryText } from './random-query.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

/** Undefined when `text` is not a query; fails when anything but a query error is thrown. */
export function tryParse(text: string): Query | undefined {
  try {
    return parse(text)
  } catch (error) {
    assert(error instanceof QueryError, `${JSON.stringify(text)}: ${error}`)
    assert.ok(error.start >= 0 && error.start <= text.length && error.end <= text.length)
    assert.ok(error.start <= error.end)
    return undefined
  }
}

function assertCanonical(text: string): boolean {
  const query = tryParse(text)
  if (query === undefined) return false
  const canonical = format(query)
  assert.equal(withoutSpans(parse(canonical)), withoutSpans(query), canonical)
  assert.equal(format(parse(canonical)), canonical)
  return true
}

test('random queries mean the same when printed, and print the same again', () => {
  let parsed = 0
  let runs = 0
  const property = fc.property(queryText, (text) => {
    runs++
    if (assertCanonical(text)) parsed++
  })
  fc.assert(property, fuzzed(seed, 5_000, 4_000))
  assert.ok(parsed > runs / 4, `${parsed} of ${runs} texts were queries`)
})

test('random texts are queries that print as what they mean, or give a query error', () => {
  const property = fc.property(anyText, (text) => {
    assertCanonical(text)
  })
  fc.assert(property, fuzzed(seed, 20_000, 4_000))
})

test('any value and any path can be written', () => {
  const anyString = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 })
  const property = fc.property(anyString, fc.boolean(), (text, isQuoted) => {
    const value = { start: 0, end: 0, text, isQuoted, kind: 'string', timeNs: undefined } as const
    const span = { start: 0, end: 0 }
    const hasKind = /^(-?[0-9].*|true|false)$/su.test(text)
    if (hasKind || (!isQuoted && /^(and|or|not)$/i.test(text))) return
    const test = { kind: 'value', ...span, value, isWhole: false } as const
    const field = { kind: 'path', ...span, parts: [text] } as const
    const isPath = !/(^|\.)[\^@:]`/.test(text)
    if (isPath) {
      const query: Query = { kind: 'field', ...span, field, test }
      assert.equal(withoutSpans(parse(format(query))), withoutSpans(query))
    }
    const bare: Query = { kind: 'text', ...span, test }
    assert.equal(withoutSpans(parse(format(bare))), withoutSpans(bare))
  })
  fc.assert(property, fuzzed(seed, 5_000, 3_000))
})
