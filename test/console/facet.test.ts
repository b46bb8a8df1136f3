/** Goal: counted values are those of their field, whatever it is called. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFacets } from '../../console/explore/facet.ts'

const REST = { events: 1, complete: true, reason: null, covered: null, lag_ms: 0, sampled: false }

test('a label has its name; a field called as what every object has is called so, too', () => {
  const names = ['_level', '_service', 'constructor', '__proto__', 'toString', 'level']
  const facets = names.map((field) => ({
    field,
    estimated: false,
    values: [{ value: field, count: 1 }],
  }))
  const read = readFacets(JSON.stringify({ ...REST, facets })).facets
  assert.deepEqual(
    read.map(({ label, values: [first] }) => [label, first!.text]),
    [['level', '_level'], ['service', '_service'], ...names.slice(2).map((name) => [name, name])],
  )
})
