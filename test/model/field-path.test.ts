/** Goal: what ClickHouse would read as syntax of its own is no field path; all else is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFieldPath } from '../../src/model/field-path.ts'

test('paths with syntax of JSON columns in them are refused, at their beginning too', () => {
  for (const path of ['', '^`a`', ':`String`', 'a.:`String`', 'a.^`b`']) {
    assert.equal(isFieldPath(path), false, path)
  }
  for (const path of ['a', 'a.b', ':String', '^a', 'a.:b', '`', 'a:`b`', '.']) {
    assert.equal(isFieldPath(path), true, path)
  }
})
