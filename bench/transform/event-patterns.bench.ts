import { EventFacts } from '../../workers/facts/event-facts.ts'
import { EventPatterns } from '../../workers/facts/event-patterns.ts'
import type { MeasuredWork, MicroBench } from '../bench.ts'
import { joinLines } from '../corpus.ts'
import { TapeBatch } from '../decode/tape-batch.ts'

function describeAll({ tape, bytes, events }: TapeBatch): MeasuredWork {
  const facts = new EventFacts()
  facts.describe(tape, bytes, events)
  const patterns = new EventPatterns()
  const range = { first: 0, count: events.count }
  return () => patterns.describe(tape, bytes, events, facts, range)
}

export const eventPatternsJson: MicroBench = {
  name: 'transform/event-patterns',
  title: "patterns of events' messages",
  kind: 'json',
  prepare: (batch) => describeAll(new TapeBatch(batch)),
}

export const eventPatternsText: MicroBench = {
  name: 'transform/event-patterns-text',
  title: 'patterns of text lines of 230 B',
  kind: 'text',
  prepare: (batch) => {
    const lines = batch.lines.map((message) => JSON.stringify({ message }))
    return describeAll(new TapeBatch({ ...batch, lines, body: joinLines(lines) }))
  },
}
