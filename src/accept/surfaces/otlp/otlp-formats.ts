/** The bodies of OTLP requests: protobuf is cut between log records, JSON is not cut. */
import { type BodyFormat, documentFormat, measuredFormat } from '../../framing/body-format.ts'
import { OtlpFramer } from './otlp-framer.ts'

export const OTLP_JSON_BODY = documentFormat('otlp-json', 'text')

export const OTLP_PROTOBUF_BODY: BodyFormat = {
  ...measuredFormat(documentFormat('otlp-protobuf', 'binary'), (bytes) => {
    return OtlpFramer.measureWhole(bytes)
  }),
  createFramer: (...rest) => new OtlpFramer(...rest),
}
