/**
 * Goal: a stream that an option names is found, made when there is none, once also by several
 * nodes; what cannot be meant is said.
 * Method: a control plane in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import type { Stream } from '../../src/model/stream.ts'
import { streamNamed } from '../../src/read/stream-named.ts'

const some = (streamId: number, name: string) => ({ streamId, name }) as Stream

function controlOf(streams: Stream[], isRaced = false) {
  return {
    findStreamsNamed: async (name: string) => streams.filter((each) => each.name === name),
    createStream: async (owner: string, { name }: { readonly name: string }) => {
      assert.equal(owner, 'admin')
      streams.push(some(9, name))
      if (isRaced) throw new IngestError('conflict', 'another node was faster')
      return streams.at(-1)!
    },
  }
}

test('found, or made', async () => {
  const streams = [some(3, 'network')]
  const made: number[] = []
  const find = (name: string) => {
    return streamNamed(controlOf(streams), name, (stream) => void made.push(stream.streamId))
  }
  assert.equal((await find('network')).streamId, 3)
  assert.equal((await find('switches')).streamId, 9)
  assert.equal((await find('switches')).streamId, 9)
  assert.deepEqual(made, [9])
})

test('two nodes make one', async () => {
  const { streamId } = await streamNamed(controlOf([], true), 'a', () => assert.fail('not by us'))
  assert.equal(streamId, 9)
})

test('a name that several owners have, and one that is none, are refused', async () => {
  const control = controlOf([some(3, 'a'), some(4, 'a')])
  await assert.rejects(
    streamNamed(control, 'a', () => undefined),
    /give its id instead/,
  )
  await assert.rejects(
    streamNamed(control, ' ', () => undefined),
    /"name" must not be blank/,
  )
  await assert.rejects(
    streamNamed(control, 'a\u0000b', () => undefined),
    /"name"/,
  )
})
