/** OTLP decoders, kept from request to request as in a worker. */
import type { Part } from '../../../src/model/batch/accepted-batch.ts'
import { OtlpJsonDecoder } from '../../../workers/decode/otlp/otlp-json.ts'
import { OtlpDecoder } from '../../../workers/decode/otlp/otlp-protobuf.ts'
import { decodeGenerated, type GeneratedEvents, target } from '../generated-events.ts'

const decoder = new OtlpDecoder(target.tape, target.events, target.generated)
const jsonDecoder = new OtlpJsonDecoder(decoder)

export type OtlpFraming = 'otlp-protobuf' | 'otlp-json'

/** Decodes one part; `part` says where it is not the whole. */
export function decodeOtlp(
  framing: OtlpFraming,
  bytes: Uint8Array,
  part: Partial<Part> = {},
): GeneratedEvents {
  const end = part.end ?? bytes.length
  const range = { start: 0, ...part, ...part.options, end }
  return decodeGenerated(bytes, end, (held) => {
    return framing === 'otlp-protobuf'
      ? decoder.decode(held, range)
      : jsonDecoder.decode(held, range)
  })
}
