/**
 * Goal: docs/query.md shows valid queries, and tells the truth about forms of other languages: that
 * they work, are refused, or mean something else.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { format } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'

const text = readFileSync('docs/query.md', 'utf8')

/** The cells of all tables, by row. */
const rows = text.split('\n').flatMap((line) => {
  if (!line.startsWith('| ') || /^\|[-|]+$/.test(line)) return []
  const cells = line.slice(1, -1).split(/(?<!\\)\|/)
  return [cells.map((cell) => cell.trim().replaceAll('\\|', '|'))]
})

/** The queries in a cell, which are in backquotes; members of the request are left out. */
function queriesOf(cell: string): string[] {
  const codes = [...cell.matchAll(/`` (.+?) ``|`([^`]+)`/g)].map(([, two, one]) => two ?? one!)
  return codes.filter((code) => !code.startsWith('"from"'))
}

const brought = rows.filter(([, , how]) => /^(works|refused|means something else)$/.test(how ?? ''))

test('every query that the page proposes is valid', () => {
  const proposed = rows
    .filter((cells) => cells.length === 2)
    .flatMap(([, here]) => queriesOf(here!))
  const instead = brought.flatMap(([, here]) => queriesOf(here!))
  assert.ok(proposed.length > 20 && instead.length > 30)
  for (const query of [...proposed, ...instead]) parse(query)
})

test('forms of other languages work, are refused or mean something else, as the page says', () => {
  assert.ok(brought.length > 30)
  for (const [there, here, how] of brought) {
    const [typed] = queriesOf(there!)
    const [meant] = queriesOf(here!)
    if (how === 'refused') {
      const isRepaired = (error: unknown) =>
        error instanceof QueryError && error.repair !== undefined
      assert.throws(() => parse(typed!), isRepaired, typed)
    } else {
      const isSame = format(parse(typed!)) === format(parse(meant!))
      assert.equal(isSame, how === 'works', typed)
    }
  }
})
