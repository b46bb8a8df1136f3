/** All of redaction, as ingest runs it: lines of JSON in, the same events redacted out. */
import type { StreamId } from '../../src/model/stream.ts'
import { Transforms } from '../../workers/transform/plan.ts'
import { TapeBatch } from '../decode/tape-batch.ts'

/** The lines as events of one batch, redacted. */
export function redactLines(lines: readonly string[]): string[] {
  const batch = new TapeBatch({
    kind: 'json',
    lines,
    body: Buffer.from(lines.map((line) => `${line}\n`).join('')),
  })
  const { tape, events, buffer } = batch
  batch.decode()
  const settings = { parseUserAgents: false, redactSensitive: true, redactFields: [] }
  const origin = { streamId: 1 as StreamId, settings, receivedAtMs: 0 }
  const transformed = new Transforms().run(tape, events, buffer, origin)
  return lines.map((_, i) =>
    Buffer.from(transformed.bytes.subarray(events.start[i]!, events.end[i]!)).toString(),
  )
}
