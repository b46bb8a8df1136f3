/** Goal: in a list of names the one at the cursor is proposed for, and replaced. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { itemAt } from '../../console/parts/item-at.ts'

const TABLE = [
  ['‸', ''],
  ['sta‸', 'sta'],
  ['a,‸', ''],
  ['a, sta‸', 'sta'],
  ['a, st‸a,b', 'sta'],
  ['a‸,b', 'a'],
  ['a,b‸', 'b'],
  ['a,‸b', 'b'],
  ['`a,b`,c‸', 'c'],
  ['`a,b‸', '`a,b'],
  ['x,`a,‸b`', '`a,b`'],
] as const

for (const [marked, expected] of TABLE) {
  test(`${marked}: ${expected}`, () => {
    const text = marked.replace('‸', '')
    const { start, end, text: item } = itemAt(text, marked.indexOf('‸'))
    assert.equal(item, expected)
    assert.equal(text.slice(start, end), expected)
  })
}
