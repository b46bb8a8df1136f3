import { EventFacts } from '../../workers/facts/event-facts.ts'
import type { MicroBench } from '../bench.ts'
import { TapeBatch } from '../decode/tape-batch.ts'

export const eventFacts: MicroBench = {
  name: 'transform/event-facts',
  title: 'event time and shape, from the tape',
  kind: 'json',
  prepare: (batch) => {
    const { tape, bytes, events } = new TapeBatch(batch)
    const facts = new EventFacts()
    return () => facts.describe(tape, bytes, events)
  },
}
