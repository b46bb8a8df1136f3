/** Goal: a node knows how many share the budgets: it hears of others when it renews its lease. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { NodeLease } from '../../../src/store/raw/node-lease.ts'
import { SILENT_LOG, startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { eventually } from '../temporary.ts'

let database: TestDatabase

before(async () => {
  database = await startDatabase()
})

after(async () => {
  await database?.close()
})

test('nodes that come, go and die are counted', async () => {
  const { postgres } = database
  const claim = (n: number) => {
    const identity = `00000000-0000-4000-8000-00000000000${n}`
    const onLost = () => undefined
    const times = { renewMs: 20 }
    return NodeLease.claim({ postgres, identity, log: SILENT_LOG, onLost, times })
  }
  const first = await claim(1)
  assert.equal(first.liveNodes, 1)
  const second = await claim(2)
  const third = await claim(3)
  assert.deepEqual([second.liveNodes, third.liveNodes], [2, 3])
  await eventually('the first hears of both', () => first.liveNodes === 3)
  await third.stop()
  await eventually('one has left', () => first.liveNodes === 2 && second.liveNodes === 2)
  await second.stop()
  await eventually('it is alone', () => first.liveNodes === 1)
  await first.stop()
})
