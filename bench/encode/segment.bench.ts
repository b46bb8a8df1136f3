import { NativeBlockEncoder } from '../../workers/block/native-block.ts'
import { tapeSource } from '../../workers/block/native-json.ts'
import { EventFacts } from '../../workers/facts/event-facts.ts'
import { SegmentEncoder } from '../../workers/segment/segment.ts'
import type { MicroBench } from '../bench.ts'
import { TapeBatch } from '../decode/tape-batch.ts'

/** Beside `encode/brotli-1`, the difference is what gathering lines and the header cost. */
export const segment: MicroBench = {
  name: 'encode/segment',
  title: 'segment, from the tape',
  kind: 'json',
  prepare: (batch) => {
    const { tape, bytes, events } = new TapeBatch(batch)
    const facts = new EventFacts()
    facts.describe(tape, bytes, events)
    const source = tapeSource(bytes, tape)
    const range = { first: 0, count: events.count }
    const blocks = new NativeBlockEncoder()
    const index = blocks.index(source, events, facts, range)
    const encoder = new SegmentEncoder()
    return () => encoder.encode(source, index, events, facts, range).length
  },
}
