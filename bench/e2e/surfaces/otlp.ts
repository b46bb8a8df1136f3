import { encodeLogsRequest } from './otlp-request.ts'
import type { Surface } from './surface.ts'

/** Protobuf, each event the kvlist body of a log record: structured logging's usual form. */
export const otlp: Surface = {
  name: 'otlp',
  path: '/v1/otlp/v1/logs',
  contentType: 'application/x-protobuf',
  corpus: 'json',
  encodeBody: (lines) => encodeLogsRequest(lines.map((line) => ({ body: JSON.parse(line) }))),
  // Any body at all is a partial success, and 1,000 requests of one corpus are all good or none.
  countAccepted: (reply, sent) => (reply === '' ? sent : 0),
}
