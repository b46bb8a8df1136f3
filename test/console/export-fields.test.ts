/**
 * Goal: the fields of an export are those that the service takes, named as it names them; what is
 * left out is told.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFieldList } from '../../console/base/field.ts'
import {
  catalogFields,
  columnFields,
  EXPORT_FIELDS_MAX,
} from '../../console/export/export-fields.ts'
import { fileName } from '../../console/export/file-name.ts'
import { SEARCH_FIELDS_MAX } from '../../src/limits.ts'

test('columns are fields of an export, but for those that no event has as its own', () => {
  const columns = readFieldList('http.status,`a,b`,_level,`_level`,_stream,items[].price')
  assert.deepEqual(columnFields(columns), {
    fields: ['http.status', 'a,b', '`_level`'],
    left: ['_level', '_stream', 'items[].price'],
  })
})

test('all fields of a stream: what holds values, and of too many those that were seen last', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 12, minute)).toISOString()
  const field = (path: string, types: readonly string[], minute = 0) => {
    return { path, types, last_seen_at: at(minute) }
  }
  const few = [
    field('.odd', ['string']),
    field('http', ['object']),
    field('http.status', ['integer', 'string']),
    field('items', ['array']),
    field('items[].price', ['float']),
    field('log', ['object', 'string']),
  ]
  assert.deepEqual(catalogFields(few), { fields: ['http.status', 'items', 'log'], left: [] })
  const many = Array.from({ length: 70 }, (_, n) => field(`f${n}`, ['string'], n % 60))
  const { fields, left } = catalogFields(many)
  assert.equal(EXPORT_FIELDS_MAX, SEARCH_FIELDS_MAX)
  assert.equal(fields.length, SEARCH_FIELDS_MAX)
  assert.deepEqual(left, ['f0', 'f1', 'f2', 'f60', 'f61', 'f62'])
})

test('the name of a file is one everywhere', () => {
  const time = '2026-01-31 12:00:05.120'
  assert.equal(fileName('Shop / éu: *', time, 'csv'), 'Shop-éu-2026-01-31-120005.csv')
  assert.equal(fileName('../..', time, 'ndjson'), 'events-2026-01-31-120005.ndjson')
  assert.equal(fileName('n'.repeat(200), time, 'csv').length, 60 + '-2026-01-31-120005.csv'.length)
})
