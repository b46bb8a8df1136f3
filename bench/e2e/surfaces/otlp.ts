import { otlpProtobuf } from '../../otlp-request.ts'
import type { Surface } from './surface.ts'

/** Field 1, of no bytes. */
const EMPTY_PARTIAL = '\n\0'

/** Protobuf; each event is the kvlist body of a log record, as structured logging sends it. */
export const otlp: Surface = {
  name: 'otlp',
  path: '/v1/otlp/v1/logs',
  contentType: 'application/x-protobuf',
  corpus: 'json',
  encodeBody: (lines) => otlpProtobuf(lines, 'kvlist'),
  // Empty is a full success, and so is an empty partial success, as the Collector has it. Of any
  // other nothing is counted: the corpus has no event to reject, so the run then shows that events
  // are missing.
  countAccepted: (reply, sent) => (reply === '' || reply === EMPTY_PARTIAL ? sent : 0),
}
