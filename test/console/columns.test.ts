/**
 * Goal: the columns that a person added, moved, sized and removed are in the address, and what is
 * there without being asked for, the service and the line of the event, stays until it is removed.
 * Method: addresses to columns, changes to addresses, by names of columns.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COLUMNS_MAX, readColumns, readFieldList } from '../../console/base/field.ts'
import {
  columnName,
  columnsOf,
  hiddenOf,
  moved,
  type Params,
  removed,
  resized,
  widened,
  widthOf,
  withColumns,
} from '../../console/events/columns.ts'
import { readEvents } from '../../console/events/event.ts'
import { errorAt } from '../../console/events/level.ts'

function read(params: URLSearchParams, hasService = true) {
  return columnsOf(readFieldList(params.get('cols') ?? ''), params, hasService)
}

/** By names; the event's line as `…`. */
const namesOf = (params: URLSearchParams, hasService = true) =>
  read(params, hasService)
    .map((column) => columnName(column) || '…')
    .join(' ')

function changed(params: URLSearchParams, changes: Params | undefined): URLSearchParams {
  const next = new URLSearchParams(params)
  for (const [name, value] of Object.entries(changes ?? {})) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  return next
}

test('the service first where events have one, the line last, what is added in between', () => {
  assert.equal(namesOf(new URLSearchParams()), '_service …')
  assert.equal(namesOf(new URLSearchParams(), false), '…')
  assert.equal(namesOf(new URLSearchParams('cols=status,`a,b`')), '_service status `a,b` …')
  assert.equal(namesOf(new URLSearchParams('cols=status,_service')), 'status _service …')
  assert.equal(namesOf(new URLSearchParams('cols=a,b&line=1')), '_service a … b')
  assert.equal(namesOf(new URLSearchParams('cols=a,b&line=7')), '_service a b …')
  assert.equal(namesOf(new URLSearchParams('cols=a&line=no&service=no')), 'a')
})

test('any column moves anywhere, and back', () => {
  const start = new URLSearchParams('cols=a,b')
  const count = read(start).length
  const places = Array.from({ length: count }, (_, at) => at)
  for (const from of places) {
    for (const to of places) {
      const names = namesOf(start).split(' ')
      const [name] = names.splice(from, 1)
      names.splice(to, 0, name!)
      const there = changed(start, moved(read(start), from, to - from))
      assert.equal(namesOf(there), names.join(' '))
      const back = changed(there, moved(read(there), to, from - to))
      assert.equal(namesOf(back), namesOf(start))
    }
  }
  assert.equal(moved(read(start), 0, -1), undefined)
})

test('what is removed is gone, and what was there by itself can be shown again', () => {
  let params = new URLSearchParams('cols=a,b&line=1')
  params = changed(params, removed(read(params), 1))
  assert.equal(namesOf(params), '_service … b')
  params = changed(params, removed(read(params), 0))
  assert.equal(namesOf(params), '… b')
  params = changed(params, removed(read(params), 0))
  assert.equal(namesOf(params), 'b')
  assert.deepEqual(hiddenOf(params), ['service', 'line'])
})

test('widths go by name, within bounds', () => {
  let params = new URLSearchParams('cols=`a,b`')
  const [service, odd, line] = read(params)
  params = changed(params, resized(odd!, 120, params))
  params = changed(params, resized(line!, 9, params))
  assert.deepEqual(
    [service, odd, line].map((column) => widthOf(column!, params)),
    [undefined, 120, 48],
  )
  params = changed(params, widened(odd!, 120, 1, params))
  assert.equal(widthOf(odd!, params), 144)
  params = changed(params, resized(odd!, undefined, params))
  assert.equal(widthOf(odd!, params), undefined)
  assert.equal(widthOf(odd!, new URLSearchParams('widths=`a,b`:x,`a,b`:99999999')), undefined)
})

test('there are no more columns than can be drawn, and none twice', () => {
  const names = Array.from({ length: 12_000 }, (_, n) => `c${n}`)
  const columns = readColumns(new URLSearchParams({ cols: names.join() }))
  assert.equal(columns.length, COLUMNS_MAX)
  const [one, other, more] = ['a', 'b,a', 'c'].map(readFieldList)
  assert.deepEqual(withColumns(one!, other!), { cols: 'a,b' })
  assert.equal(withColumns(columns, more!), undefined)
  assert.equal(withColumns(columns.slice(1), more!)?.cols?.endsWith(',c'), true)
})

test('errors and worse are found behind a row and before it, not rows of other kinds', () => {
  const levels = ['error', 'info', 'fatal', 'warn']
  const events = levels.map((level, at) => ({
    id: `1-${at}`,
    ingested_at: '2026-01-31T10:00:00.000Z',
    payload: { level },
  }))
  const rows = [
    { kind: 'skip' },
    ...readEvents(JSON.stringify({ events })).events.map((event) => ({ kind: 'event', event })),
  ]
  assert.deepEqual(
    [errorAt(rows, -1, 1), errorAt(rows, 1, 1), errorAt(rows, 3, 1)],
    [1, 3, undefined],
  )
  assert.deepEqual([errorAt(rows, 3, -1), errorAt(rows, 1, -1)], [1, undefined])
})
