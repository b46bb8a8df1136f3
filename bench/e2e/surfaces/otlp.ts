import { otlpProtobuf } from '../../otlp-request.ts'
import type { Surface } from './surface.ts'

/** Protobuf; each event is the kvlist body of a log record, as structured logging sends it. */
export const otlp: Surface = {
  name: 'otlp',
  path: '/v1/otlp/v1/logs',
  contentType: 'application/x-protobuf',
  corpus: 'json',
  encodeBody: (lines) => otlpProtobuf(lines, 'kvlist'),
  // Empty is a full success. Anything else is a partial one, of which nothing is counted: the
  // corpus has no event to reject, so the run then shows that events are missing.
  countAccepted: (reply, sent) => (reply === '' ? sent : 0),
}
