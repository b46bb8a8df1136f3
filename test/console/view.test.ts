/**
 * Goal: a view opens as what it is, or it is told what of it is not shown; saving it again loses
 * nothing of that.
 * Method: views as clients of the API save them, to an address and back.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unshownOf, type ViewInfo, viewOf, viewParams } from '../../console/base/view.ts'

const VIEW: ViewInfo = {
  id: '7',
  name: 'Slow',
  description: '',
  query: 'level:error',
  time_basis: 'event_time',
  range: { last: '4h' },
  columns: [],
  order: 'newest',
  chart: null,
  shared: true,
  tags: [],
  created_by: 'admin',
  updated_at: '2026-01-31T12:00:00.000Z',
  version: 3,
  problem: null,
}

function addressOf(view: ViewInfo): URLSearchParams {
  const given = Object.entries(viewParams(view)).filter(([, text]) => text)
  return new URLSearchParams(given as [string, string][])
}

/** Opened, and saved as it is. */
function savedAgain(view: ViewInfo) {
  const { query, time_basis, range, columns, order, chart, tags } = view
  const saved = viewOf(addressOf(view), view)
  assert.deepEqual(saved, { query, time_basis, range, columns, order, chart, tags })
}

const RICH: ViewInfo = {
  ...VIEW,
  time_basis: 'ingested_at',
  order: 'oldest',
  tags: ['night'],
  columns: [{ path: 'a,b', width: 300 }, { path: '`_level`' }, { path: '_level' }],
  chart: {
    type: 'top',
    bucket: '5m',
    group_by: ['service', '`a[]b`', 'user name'],
    aggregates: [
      { fn: 'p99.9', field: 'took ms' },
      { fn: 'count', query: 'status:>=500', as: 'failed' },
    ],
  },
}

test('what the screen shows of a view is in its address', () => {
  const params = addressOf(RICH)
  assert.equal(params.get('by'), 'service,`a[]b`,`user name`')
  assert.equal(params.get('cols'), '`a,b`,`_level`,_level')
  assert.deepEqual([params.get('fn'), params.get('of')], ['p99.9', '`took ms`'])
  assert.equal(params.get('basis'), 'ingested_at')
  assert.deepEqual([params.get('order'), params.get('widths')], ['oldest', '`a,b`:300'])
  assert.equal(addressOf(VIEW).get('basis'), null)
})

test('what it does not show is told', () => {
  assert.deepEqual(unshownOf(VIEW), [])
  assert.deepEqual(unshownOf(RICH), [
    'count where status:>=500 (failed)',
    'steps of 5m',
    'a list alone, without lines over time',
  ])
  const ungrouped = { ...VIEW, chart: { type: 'lines', aggregates: [{ fn: 'count', field: 'a' }] } }
  assert.deepEqual(unshownOf(ungrouped), ['figures that are not grouped by a field', 'count of a'])
})

test('a view that is saved as it was opened is the same', () => {
  savedAgain(VIEW)
  savedAgain(RICH)
  savedAgain({ ...VIEW, range: null })
  savedAgain({ ...VIEW, chart: { type: 'lines', aggregates: [{ fn: 'count' }] } })
  for (const figure of [
    { fn: 'count', field: 'a', as: 'x' },
    { fn: 'rate' },
    { fn: 'sum', field: 'n', query: 'a:b' },
    { fn: 'uniq', field: '_service' },
  ]) {
    const chart = { type: 'bars', bucket: 'auto', group_by: ['service'], aggregates: [figure] }
    savedAgain({ ...VIEW, chart })
  }
})

test('what was changed on the screen is changed, and nothing else', () => {
  const params = addressOf(RICH)
  params.set('q', 'level:warn')
  params.set('fn', 'max')
  params.set('by', 'host')
  const saved = viewOf(params, RICH)
  assert.equal(saved.query, 'level:warn')
  assert.deepEqual(saved.chart, {
    type: 'top',
    bucket: '5m',
    group_by: ['host'],
    aggregates: [{ fn: 'max', field: 'took ms' }, RICH.chart!.aggregates![1]],
  })
  assert.equal(saved.order, 'oldest')
  params.delete('by')
  assert.equal(viewOf(params, RICH).chart, null)
  assert.deepEqual(viewOf(new URLSearchParams('by=service')).chart, {
    type: 'lines',
    bucket: 'auto',
    group_by: ['service'],
    aggregates: [{ fn: 'count' }],
  })
})
