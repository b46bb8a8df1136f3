/** A materializer under test, and what must be true of its stores in the end. */
import assert from 'node:assert/strict'
import { Materializer } from '../../src/materialize/materializer.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import { eventually } from '../store/temporary.ts'
import type { FakeStores } from './fake-stores.ts'

/** A materializer over these stores, and what it told its observer. */
export function setUp(stores: FakeStores, delayMs = 20) {
  const modes: string[] = []
  const errors: number[] = []
  const setAside: SegmentId[] = []
  const released: Uint8Array[] = []
  const stalls: (string | undefined)[] = []
  let replayed = 0
  const materializer = new Materializer({
    stores,
    observer: {
      onInsert: () => undefined,
      onReplayed: ({ segments }) => (replayed += segments),
      onError: (_cause, failures) => errors.push(failures),
      onSetAside: (segmentId) => setAside.push(segmentId),
      onStall: (reason) => stalls.push(reason),
      onModeChange: (mode) => modes.push(mode),
    },
    checkpoint: 0n as SegmentId,
    delayMs,
    release: (block) => {
      assert(!released.includes(block), 'a block is released twice')
      released.push(block)
      block.fill(0xff, 0, 8) // Somebody else's from now on: what reads it still, reads nonsense.
    },
  })
  const isLive = () => eventually('live', () => modes.at(-1) === 'live')
  return {
    materializer,
    modes,
    errors,
    stalls,
    setAside,
    released,
    isLive,
    replayed: () => replayed,
  }
}

export function assertExactlyOnce(stores: FakeStores): void {
  const expected = stores.committed.map(({ streamId, segmentId }) => `${streamId}/${segmentId}`)
  const seen = stores.projected.map(({ streamId, segmentId }) => `${streamId}/${segmentId}`)
  assert.deepEqual(seen.sort(), expected.sort())
}

export const isComplete = (stores: FakeStores) => () => {
  return stores.projected.length >= stores.committed.length
}
