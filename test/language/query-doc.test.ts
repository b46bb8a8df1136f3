/**
 * Goal: docs/query.md shows queries that are taken, and tells the truth about what people bring
 * along from elsewhere: that it works, is refused, or means something else.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { format } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'

const text = readFileSync('docs/query.md', 'utf8')

/** Rows of all tables: cells, and in them what stands in backquotes. */
const rows = text.split('\n').flatMap((line) => {
  if (!line.startsWith('| ') || /^\|[-|]+$/.test(line)) return []
  const cells = line.slice(1, -1).split(/(?<!\\)\|/)
  return [cells.map((cell) => cell.trim().replaceAll('\\|', '|'))]
})

/** Queries in a cell; not a member of the request. */
function queriesOf(cell: string): string[] {
  const codes = [...cell.matchAll(/`` (.+?) ``|`([^`]+)`/g)].map(([, two, one]) => two ?? one!)
  return codes.filter((code) => !code.startsWith('"from"'))
}

const brought = rows.filter(([, , how]) => /^(works|refused|means something else)$/.test(how ?? ''))

test('every query that is proposed is taken', () => {
  const proposed = rows
    .filter((cells) => cells.length === 2)
    .flatMap(([, here]) => queriesOf(here!))
  const instead = brought.flatMap(([, here]) => queriesOf(here!))
  assert.ok(proposed.length > 20 && instead.length > 30)
  for (const query of [...proposed, ...instead]) parse(query)
})

test('what is brought along works, is refused or means something else, as it says', () => {
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
