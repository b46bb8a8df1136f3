/** Every decoder by the framing of its parts. A surface that has its own adds a line here. */
import type { ByteRange } from '../../src/model/batch/accepted-batch.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import { decodeBulk } from './bulk.ts'
import { BulkItemWriter } from './bulk-items.ts'
import type { Decoder } from './decoder.ts'
import { hecArrayDecoder, hecDecoder, hecRawDecoder } from './hec/hec-decoders.ts'
import { decodeArrayElements, decodeDocument } from './json-array.ts'
import { lokiJsonDecoder, lokiProtobufDecoder } from './loki/loki-decoders.ts'
import { decodeNdjson } from './ndjson.ts'
import { otlpJsonDecoder, otlpProtobufDecoder } from './otlp/otlp-decoders.ts'
import { PartOutcome } from './part-outcome.ts'
import { syslogDecoder } from './syslog/syslog-decoder.ts'
import { decodeText } from './text.ts'

export const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['ndjson', { ...json(decodeNdjson), isByLine: true }],
  ['array', json(decodeArrayElements)],
  ['document', json(decodeDocument)],
  ['bulk', bulk()],
  ['text', text()],
  ['otlp-protobuf', otlpProtobufDecoder],
  ['otlp-json', otlpJsonDecoder],
  ['loki-protobuf', lokiProtobufDecoder],
  ['loki-json', lokiJsonDecoder],
  ['hec', hecDecoder],
  ['hec-array', hecArrayDecoder],
  ['hec-raw', hecRawDecoder],
  ['syslog', syslogDecoder],
])

type DecodeJson = (
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  range: ByteRange,
  outcome: PartOutcome,
) => void

function json(decode: DecodeJson): Decoder {
  return {
    input: 'json',
    create: ({ tape, events }) => {
      return (bytes, part) => {
        const outcome = new PartOutcome()
        decode(tape, events, bytes, part, outcome)
        return outcome
      }
    },
  }
}

function bulk(): Decoder {
  return {
    input: 'json',
    isByLine: true,
    create: ({ tape, events }) => {
      const writer = new BulkItemWriter()
      return (bytes, { start, end, options }, { items }) => {
        const outcome = new PartOutcome()
        decodeBulk(tape, events, bytes, { start, end, ...options }, outcome, writer, items)
        return outcome
      }
    },
  }
}

function text(): Decoder {
  return {
    input: 'text',
    isByLine: true,
    create: ({ tape, events, generated }) => {
      return (bytes, part) => {
        const outcome = new PartOutcome()
        decodeText(tape, events, bytes, part, outcome, generated)
        return outcome
      }
    },
  }
}
