/** All of a batch is decoded each time, so `transform/off` is to be taken off the others. */
import type { StreamId, TransformSettings } from '../../src/model/stream.ts'
import { Transforms } from '../../workers/transform/plan.ts'
import type { BenchBatch, MicroBench } from '../bench.ts'
import { TapeBatch } from '../decode/tape-batch.ts'

export const OFF: TransformSettings = {
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
}
const REDACT: TransformSettings = { ...OFF, redactSensitive: true }

/** Decodes and transforms the batch, its lines changed by `change`. */
export function transformBench(
  name: string,
  title: string,
  settings: TransformSettings,
  change: (line: string, index: number) => string = (line) => line,
): MicroBench {
  return {
    name: `transform/${name}`,
    title: `decode, ${title}`,
    kind: 'json',
    prepare: (batch) => {
      const tapeBatch = new TapeBatch(changedBatch(batch, change))
      const { tape, events, buffer } = tapeBatch
      const transforms = new Transforms()
      const origin = { streamId: 1 as StreamId, settings, receivedAtMs: 0 }
      return () => {
        tapeBatch.decode()
        return transforms.run(tape, events, buffer, origin)
      }
    },
  }
}

function changedBatch(batch: BenchBatch, change: (line: string, index: number) => string) {
  const lines = batch.lines.map(change)
  return { ...batch, lines, body: Buffer.from(`${lines.join('\n')}\n`) }
}

function withMember(line: string, member: string): string {
  return `{${member},${line.slice(1)}`
}

/** Paths that no event has, but whose beginnings most have. */
function fields(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `http.headers.x-private-${i}`)
}

const token = `gh${'p'}_${'0a1B'.repeat(9)}`

export const redactionBenches: readonly MicroBench[] = [
  transformBench('off', 'nothing on', OFF),
  transformBench('redact-no-hits', 'redaction, no hits', REDACT),
  transformBench('redact-1-of-100', 'redaction, a secret in 1 of 100', REDACT, (line, i) =>
    i % 100 === 0 ? withMember(line, `"note":"key ${token}"`) : line,
  ),
  transformBench('redact-key', 'redaction, a denylisted string in each', REDACT, (line) =>
    withMember(line, '"authorization":"x"'),
  ),
  transformBench('redact-object', 'redaction, a denylisted object in each', REDACT, (line) =>
    withMember(line, '"credentials":{"a":"b"},"_raw":"t"'),
  ),
  transformBench('redact-json-in-string', 'redaction, JSON in a string in each', REDACT, (line) =>
    withMember(line, `"payload":${JSON.stringify(line)}`),
  ),
  transformBench('redact-json-message', 'redaction, JSON in `message`, no hits', REDACT, (line) =>
    JSON.stringify({ level: 'info', message: line }),
  ),
  transformBench('redact-10-fields', 'redaction, 10 redact_fields, no hits', {
    ...REDACT,
    redactFields: fields(10),
  }),
  transformBench('redact-256-fields', 'redaction, 256 redact_fields, no hits', {
    ...REDACT,
    redactFields: fields(256),
  }),
  transformBench('redact-2-fields-hit', 'redaction, 2 redact_fields in each', {
    ...REDACT,
    redactFields: ['http.ip', 'user.id'],
  }),
]
