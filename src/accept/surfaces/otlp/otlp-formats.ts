/** The bodies of OTLP requests: protobuf is cut between log records, JSON is not cut. */
import { IngestError } from '../../../errors.ts'
import { type BodyFormat, documentFormat } from '../../framing/body-format.ts'
import { OtlpFramer } from './otlp-framer.ts'

export const OTLP_JSON_BODY = documentFormat('otlp-json', 'text')

export const OTLP_PROTOBUF_BODY: BodyFormat = {
  name: 'otlp-protobuf',
  whole: (bytes) => {
    const eventBytes = OtlpFramer.measureWhole(bytes)
    if (eventBytes instanceof IngestError) return eventBytes
    return { bytes, framing: 'otlp-protobuf', input: 'binary', eventBytes }
  },
  createFramer: (...rest) => new OtlpFramer(...rest),
}
