import { SegmentEncoder } from '../../workers/encode/segment.ts'
import { EventFacts } from '../../workers/transform/event-facts.ts'
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
    const encoder = new SegmentEncoder()
    const range = { first: 0, count: events.count }
    return () => encoder.encode(bytes, events, facts, range).length
  },
}
