/** What Splunk HEC bodies consist of, as decoders. */
import type { Decoder, DecodeTarget } from '../decoder.ts'
import { HecEventsDecoder } from './hec-events.ts'
import { HecRawDecoder } from './hec-raw.ts'

/** Envelopes, one after another. */
export const hecDecoder: Decoder = { input: 'text', create: (target) => envelopes(target, false) }

/** Elements of an array of them. */
export const hecArrayDecoder: Decoder = {
  input: 'text',
  create: (target) => envelopes(target, true),
}

export const hecRawDecoder: Decoder = {
  input: 'text',
  isByLine: true,
  create: (target) => {
    const decoder = new HecRawDecoder(target)
    return (bytes, part) => decoder.decode(bytes, part, part.options ?? {})
  },
}

function envelopes(target: DecodeTarget, isArray: boolean): ReturnType<Decoder['create']> {
  const decoder = new HecEventsDecoder(target)
  return (bytes, part) => decoder.decode(bytes, part, part.options ?? {}, isArray)
}
