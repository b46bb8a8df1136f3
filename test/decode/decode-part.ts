import type { BulkPartOptions } from '../../src/model/batch/bulk-items.ts'
import type { PartResult } from '../../src/model/batch/part-result.ts'
import { decodeBulk } from '../../workers/decode/bulk.ts'
import { BulkItemWriter } from '../../workers/decode/bulk-items.ts'
import { decodeArrayElements, decodeDocument } from '../../workers/decode/json-array.ts'
import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { decodeText } from '../../workers/decode/text.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { EventBuffer } from '../../workers/tape/event-buffer.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'

export interface DecodedPart {
  /** The events' JSON, as it will be stored. */
  readonly events: readonly string[]
  readonly result: PartResult
}

/** What a part carries beside its bytes. */
export type PartOptions = BulkPartOptions

/** Decodes `body`, the whole of a part. */
export function decodePart(
  framing: string,
  body: string | Uint8Array,
  options: PartOptions = {},
): DecodedPart {
  return decodeParts([[framing, body, options]])[0]!
}

/** Decodes the parts of one batch, one after another as shared batches hold them. */
export function decodeParts(
  parts: readonly (readonly [string, string | Uint8Array, PartOptions?])[],
): DecodedPart[] {
  const bytes = Buffer.concat([
    ...parts.flatMap(([, body]) => [Buffer.from(body), Buffer.from('\n')]),
    Buffer.alloc(TAPE_PADDING),
  ])
  const tape = new JsonTape(new PathTrie())
  const events = new DecodedEvents()
  events.reset()
  tape.begin(bytes)
  const generated = new EventBuffer()
  const items = new BulkItemWriter()
  const decoded: DecodedPart[] = []
  let start = 0
  for (const [framing, body, options] of parts) {
    const range = { start, end: start + Buffer.from(body).length }
    const outcome = new PartOutcome()
    const first = events.count
    const part = { framing, ...range, ...options }
    if (framing === 'bulk') decodeBulk(tape, events, bytes, part, outcome, items)
    else if (framing === 'ndjson') decodeNdjson(tape, events, bytes, range, outcome)
    else if (framing === 'array') decodeArrayElements(tape, events, bytes, range, outcome)
    else if (framing === 'document') decodeDocument(tape, events, bytes, range, outcome)
    else decodeText(tape, events, bytes, range, outcome, generated)
    const source = framing === 'text' ? generated.bytes : bytes
    const texts: string[] = []
    for (let i = first; i < events.count; i++) {
      texts.push(Buffer.from(source.subarray(events.start[i]!, events.end[i]!)).toString())
    }
    decoded.push({ events: texts, result: outcome.toResult() })
    start = range.end + 1
  }
  return decoded
}
