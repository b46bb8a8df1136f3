/**
 * Goal: a column is a dotted path in a scope, whichever keys it was made of, and however many.
 * Method: random keys of a small alphabet, so that paths meet, against a Map of strings.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ColumnNames, NO_COLUMN } from '../../workers/tape/column-names.ts'
import { createRandom } from '../support/random.ts'

const PATHS = 20_000
const KEPT_MAX = 4_096
const KEYS = ['a', 'b', 'a.b', '', '.', 'é', 'key with spaces', 'x'.repeat(300)]

test('equal paths in equal scopes are one column, others never', (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const pick = (count: number) => Math.floor(next() * count)
  const names = new ColumnNames(seed)
  names.reset(KEPT_MAX)
  for (let round = 0; round < 3; round++) {
    const columns = new Map<string, number>()
    const known: { readonly column: number; readonly scope: number; readonly name: string }[] = []
    for (let i = 0; i < PATHS; i++) {
      const parent = next() < 0.8 ? known[pick(known.length)] : undefined
      const isDeep = parent !== undefined && parent.name.length < 900
      const scope = isDeep ? parent.scope : pick(4)
      const key = `${KEYS[pick(KEYS.length)]}${next() < 0.3 ? pick(PATHS) : ''}`
      const name = isDeep ? `${parent.name}.${key}` : key
      const bytes = Buffer.from(`(${key})`)
      const above = isDeep ? parent.column : NO_COLUMN
      const column = names.find(scope, above, bytes, 1, bytes.length - 1)
      assert.equal(column, columns.get(`${scope}/${name}`) ?? columns.size)
      columns.set(`${scope}/${name}`, column)
      assert.equal(names.count, columns.size)
      assert.equal(Buffer.from(names.nameOf(column)).toString(), name)
      assert.equal(names.lengthOf(column), Buffer.byteLength(name))
      known.push({ column, scope, name })
    }
    for (const { column, name } of known) {
      assert.equal(Buffer.from(names.nameOf(column)).toString(), name)
    }
    const { bytes } = names
    names.reset(KEPT_MAX)
    assert(names.count === 0 && names.bytes < bytes, 'more than is kept is given back')
  }
})
