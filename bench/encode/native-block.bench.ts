import { NativeBlockEncoder } from '../../workers/block/native-block.ts'
import { tapeSource } from '../../workers/block/native-json.ts'
import { EventFacts } from '../../workers/facts/event-facts.ts'
import type { MicroBench } from '../bench.ts'
import { TapeBatch } from '../decode/tape-batch.ts'

export const nativeBlock: MicroBench = {
  name: 'encode/native-block',
  title: 'Native block, from the tape',
  kind: 'json',
  prepare: (batch) => {
    const { tape, bytes, events } = new TapeBatch(batch)
    const facts = new EventFacts()
    facts.describe(tape, bytes, events)
    const source = tapeSource(bytes, tape)
    const encoder = new NativeBlockEncoder()
    const range = { first: 0, count: events.count }
    facts.patterns.describe(tape, bytes, events, facts, range)
    return () => encoder.encode(source, events, facts, range).block.bytes.length
  },
}

/** The two together, to compare with the design's 0.9 µs. */
export const tapeAndNativeBlock: MicroBench = {
  name: 'encode/tape-native-block',
  title: 'tape, facts and Native block',
  kind: 'json',
  prepare: (batch) => {
    const decoded = new TapeBatch(batch)
    const { bytes, tape, events } = decoded
    const facts = new EventFacts()
    const encoder = new NativeBlockEncoder()
    return () => {
      decoded.decode()
      facts.describe(tape, bytes, events)
      const source = tapeSource(bytes, tape)
      const range = { first: 0, count: events.count }
      facts.patterns.describe(tape, bytes, events, facts, range)
      return encoder.encode(source, events, facts, range).block.bytes.length
    }
  },
}
