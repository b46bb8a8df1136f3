import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sumSelfTimes } from '../../../bench/e2e/profile.ts'

function frame(id: number, functionName: string, url = '') {
  return { id, callFrame: { functionName, url, lineNumber: 4 } }
}

test('self times are summed by function and place, most first', () => {
  const times = sumSelfTimes({
    nodes: [
      frame(1, '(idle)'),
      frame(2, 'parse', 'file:///x/dist/workers/tape/json-tape.js'),
      frame(3, 'parse', 'file:///x/dist/workers/tape/json-tape.js'),
    ],
    samples: [1, 2, 3, 2],
    timeDeltas: [10, 20, 30, 40],
  })
  assert.deepEqual(times, [
    { name: 'parse workers/tape/json-tape.js:5', selfMicros: 90 },
    { name: '(idle)', selfMicros: 10 },
  ])
})
