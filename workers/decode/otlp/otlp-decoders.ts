/** OTLP's two encodings as decoders. */
import type { Decoder, DecodeTarget } from '../decoder.ts'
import { OtlpJsonDecoder } from './otlp-json.ts'
import { OtlpDecoder } from './otlp-protobuf.ts'

/** Strings in it are repaired one by one: protobuf is not text. */
export const otlpProtobufDecoder: Decoder = {
  input: 'binary',
  create: (target) => {
    const decoder = create(target)
    return (bytes, { start, end, options }, { settings }) => {
      decoder.keepsContext = settings.otlpContext === 'keep'
      const outcome = decoder.decode(bytes, { start, end, ...options })
      outcome.shareBytes(end - start)
      return outcome
    }
  },
}

export const otlpJsonDecoder: Decoder = {
  input: 'text',
  create: (target) => {
    const decoder = create(target)
    const jsonDecoder = new OtlpJsonDecoder(decoder)
    return (bytes, part, { settings }) => {
      decoder.keepsContext = settings.otlpContext === 'keep'
      const outcome = jsonDecoder.decode(bytes, part)
      outcome.shareBytes(part.end - part.start)
      return outcome
    }
  },
}

function create({ tape, events, generated }: DecodeTarget): OtlpDecoder {
  return new OtlpDecoder(tape, events, generated)
}
