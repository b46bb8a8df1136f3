/**
 * Goal: what a batch becomes never holds bytes of another batch that the same worker had.
 * Method: one pipeline, one arena; batches of all surfaces, sizes and transforms, whole, cut and
 * damaged, each with a marker of its own in its values. Every array and every text of what comes
 * out, and the payload's events, have no marker of an earlier batch.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { otlpProtobuf, otlpRequest } from '../../bench/otlp-request.ts'
import { Random } from '../../bench/random.ts'
import { DECODERS } from '../../workers/decode/all-decoders.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { SegmentReader } from '../../workers/read-segment.ts'
import { fewest, forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { batchOf } from './batch-of.ts'

const FUZZ_MS = 2_000
const EVENTS_MAX = 300
const MARKER = /zq[g-y]{8}/g
const DAMAGES = [0x22, 0x7b, 0x5c, 0x0a, 0xff, 0x00]
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const pipeline = new IngestPipeline()
const reader = new SegmentReader()

function drawMarker(random: Random): string {
  const letters = Array.from({ length: 8 }, () => 0x67 + random.below(19))
  return `zq${String.fromCharCode(...letters)}`
}

/** An event with the marker in its values: keys stay with the worker, and may. */
function drawEvent(random: Random, marker: string): string {
  const text = `${marker} `.repeat(1 + random.below(random.chance(0.05) ? 300 : 6))
  const fields = { level: 'info', service: marker, message: text, list: [marker, 1, { a: text }] }
  const inner = { log: JSON.stringify(fields), user_agent: `curl/8.${random.below(9)} ${marker}` }
  const secret = { password: marker, note: `token="${text}"`, n: random.below(1_000) / 7 }
  return JSON.stringify({ message: text, ...random.pick([fields, inner, secret]) })
}

function drawBody(random: Random, framing: string, marker: string): Buffer {
  const lines = Array.from({ length: 1 + random.below(EVENTS_MAX) }, () =>
    drawEvent(random, marker),
  )
  const kind = random.pick(['kvlist', 'text'] as const)
  if (framing === 'otlp-protobuf') return otlpProtobuf(lines, kind)
  if (framing === 'otlp-json') return Buffer.from(JSON.stringify(otlpRequest(lines, kind)))
  if (framing === 'document') return Buffer.from(lines[0]!)
  if (framing === 'array') return Buffer.from(lines.join(',\n'))
  const action = framing === 'bulk' ? `{"index":{"_index":"${marker}"}}\n` : ''
  return Buffer.from(`${lines.map((line) => action + line).join('\n')}\n`)
}

function damaged(random: Random, body: Buffer): Buffer {
  if (random.chance(0.4)) return body
  const cut = random.chance(0.5) ? body.subarray(0, random.below(body.length + 1)) : body
  for (let left = random.below(4); left > 0 && cut.length > 0; left--) {
    cut[random.below(cut.length)] = random.pick(DAMAGES)
  }
  return cut
}

/** All texts and bytes of what a batch became. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (ArrayBuffer.isView(value)) {
    return [Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')]
  }
  if (value instanceof Map) return [...value].flatMap(textsOf)
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsOf)
}

function eventsOf(payload: Uint8Array, count: number): string {
  const range = { fromOrdinal: 0, toOrdinal: count, newestFirst: false }
  const read = { payload, segmentId: '1', ingestedAtMs: 0, ...range }
  return Buffer.from(reader.run([read])).toString('latin1')
}

test('nothing that a batch becomes has bytes of another batch', () => {
  let round = seed
  let found = 0
  /** Those of batches before: damage and lengths beside a text may look like a marker too. */
  const earlier = new Set<string>()
  forMilliseconds(FUZZ_MS, () => {
    const random = new Random(++round)
    const marker = drawMarker(random)
    const framing = random.pick([...DECODERS.keys()])
    const body = damaged(random, drawBody(random, framing, marker))
    const settings = {
      parseUserAgents: random.chance(0.5),
      redactSensitive: random.chance(0.5),
      redactFields: random.chance(0.3) ? ['note'] : [],
    }
    let texts: string[]
    try {
      const encoded = pipeline.run({ ...batchOf(body, framing), settings })
      const { segments } = encoded
      const stored = segments.map(({ payload, eventCount }) => eventsOf(payload, eventCount))
      texts = [...textsOf(encoded), ...stored]
    } catch (error) {
      texts = [String(error), JSON.stringify(error)]
    }
    for (const text of texts) {
      for (const [other] of text.matchAll(MARKER)) {
        assert(!earlier.has(other), `round ${round}, ${framing}: ${other}`)
        if (other === marker) found++
      }
    }
    earlier.add(marker)
  })
  assert(found > fewest(1_000), `only ${found} markers`)
})
