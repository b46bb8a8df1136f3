/** Loki's two encodings as decoders. */
import type { Decoder } from '../decoder.ts'
import { LokiEvents } from './loki-events.ts'
import { LokiJsonDecoder } from './loki-json.ts'
import { LokiProtobufDecoder } from './loki-protobuf.ts'

export const lokiJsonDecoder: Decoder = {
  input: 'text',
  create: (target) => {
    const decoder = new LokiJsonDecoder(new LokiEvents(target))
    return (bytes, part) => {
      const outcome = decoder.decode(bytes, part)
      outcome.shareBytes(part.end - part.start)
      return outcome
    }
  },
}

/** Strings in it are repaired one by one: protobuf is not text. Bytes count decompressed. */
export const lokiProtobufDecoder: Decoder = {
  input: 'binary',
  create: (target) => {
    const decoder = new LokiProtobufDecoder(new LokiEvents(target))
    return (bytes, part) => {
      const outcome = decoder.decode(bytes, part)
      outcome.shareBytes(decoder.bytes)
      return outcome
    }
  },
}
