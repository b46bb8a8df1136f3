import { hecEnvelopes } from '../../hec-request.ts'
import type { Surface } from './surface.ts'

const SUCCESS = '{"text":"Success","code":0}'

/** Splunk HEC: each event in an envelope with its time, without a separator. */
export const hec: Surface = {
  name: 'hec',
  path: '/services/collector/event',
  contentType: 'application/json',
  corpus: 'json',
  authorization: (key) => `Authorization: Splunk ${key}`,
  encodeBody: (lines) => hecEnvelopes(lines),
  countAccepted: (reply, sent) => (reply === SUCCESS ? sent : 0),
}
