import { SEGMENT_EVENTS_MAX } from '../../src/limits.ts'
import { decodeBulk } from '../../workers/decode/bulk.ts'
import { BulkItemWriter } from '../../workers/decode/bulk-items.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { JsonTape } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import type { BenchBatch, MicroBench } from '../bench.ts'
import { padBody } from './tape-batch.ts'

/** As `decode/json-tape`, with an action before each document and an item of the reply for each. */
function bulkBench(name: string, title: string, action: (i: number) => string): MicroBench {
  return { name, title, kind: 'json', prepare: (batch) => decodeWork(batch, action) }
}

function decodeWork({ lines }: BenchBatch, action: (i: number) => string): () => number {
  const body = Buffer.from(lines.map((line, i) => `${action(i)}\n${line}\n`).join(''))
  const bytes = padBody(body)
  const part = { framing: 'bulk', start: 0, end: body.length } as const
  const tape = new JsonTape(new PathTrie())
  const events = new DecodedEvents()
  const items = new BulkItemWriter()
  return () => {
    const outcome = new PartOutcome()
    events.reset()
    tape.begin(bytes)
    decodeBulk(tape, events, bytes, part, outcome, items)
    if (outcome.rejected > 0) throw new Error(`bulk rejected ${outcome.rejected} events`)
    return outcome.bulkItems?.json.length ?? 0
  }
}

/** Beats, Fluent Bit, Vector: the same line before every document. */
export const bulkSameAction = bulkBench(
  'decode/bulk',
  'bulk, same action, with reply items',
  () => '{"create":{"_index":"filebeat-8.17.0"}}',
)

/** Logstash and clients that give ids: each line differs. */
export const bulkOwnIds = bulkBench(
  'decode/bulk-own-ids',
  'bulk, ids sent, with reply items',
  (i) =>
    `{"index":{"_index":"logs-app","_id":"f3c2a1b0-${i % SEGMENT_EVENTS_MAX}","routing":null}}`,
)
