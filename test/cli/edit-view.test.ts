/**
 * Goal: a view that somebody else has changed since it was read is not written over; figures over
 * time are bars.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../../src/cli/client.ts'
import { changeView, editsOf } from '../../src/cli/edit-view.ts'
import { Terminal } from '../../src/cli/terminal.ts'
import { sparkline } from '../../src/cli/usage-by.ts'
import { UsageError } from '../../src/cli/usage-error.ts'

test('a change names the version that it is of', async () => {
  const calls: unknown[] = []
  const client = {
    text: async (path: string, options: unknown) => {
      calls.push([path, options])
      return '{"name":"b","version":8,"columns":[]}'
    },
  } as unknown as Client
  const values = { name: 'b' }
  const terminal = new Terminal('never', {})
  const signal = new AbortController().signal
  const invocation = { client, terminal, values, positionals: [], env: {}, signal }
  const view = { name: 'a', version: 7, columns: [] }
  await changeView(invocation, 'streams/1/views/2', view, editsOf(invocation, view))
  const headers = { 'If-Match': '"7"' }
  const sent = { method: 'PATCH', headers, body: { name: 'b' } }
  assert.deepEqual(calls, [['streams/1/views/2', sent]])
})

test('an edit that changes nothing, or says what no view has, is told', () => {
  const view = { name: 'a', version: 7, columns: [] }
  for (const values of [{}, { shared: 'maybe' }]) {
    assert.throws(() => editsOf({ values } as never, view), UsageError)
  }
})

test('bars are in proportion to the most; many steps share one', () => {
  assert.equal(sparkline([0, 1, 50, 100]), ' ▁▄█')
  assert.equal(sparkline(new Array(120).fill(1)).length, 40)
  assert.equal(sparkline([0, 0]), '  ')
})
