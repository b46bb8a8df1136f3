/** Goal: slow and broken rules hold up nobody but each other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AskingTurns } from '../../../src/alerts/asking/asking-turns.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a few at a time, one of those that have failed, in the order of arrival', async () => {
  const running = new Map<string, () => void>()
  const turns = new AskingTurns<string>(3, (name) => {
    return new Promise((resolve) => running.set(name, resolve))
  })
  const end = async (name: string) => {
    running.get(name)!()
    running.delete(name)
    await turn()
  }
  for (const name of ['bad1', 'bad2', 'bad3', 'a', 'b', 'c'])
    turns.add(name, name.startsWith('bad'))
  assert.deepEqual([...running.keys()], ['bad1', 'a', 'b'])
  let isIdle = false
  const idle = turns.untilIdle().then(() => {
    isIdle = true
  })
  await end('a')
  assert.deepEqual([...running.keys()], ['bad1', 'b', 'c'])
  await end('b')
  await end('c')
  assert.deepEqual([...running.keys()], ['bad1'], 'the others that failed wait for it')
  await end('bad1')
  assert.deepEqual([...running.keys()], ['bad2'])
  await end('bad2')
  assert.equal(isIdle, false)
  await end('bad3')
  await idle
})
