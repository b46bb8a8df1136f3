import { joinLines } from '../../corpus.ts'
import { countNativeAccepted, type Surface } from './surface.ts'

export const text: Surface = {
  name: 'text',
  path: '/v1/ingest/text',
  contentType: 'text/plain',
  corpus: 'text',
  encodeBody: joinLines,
  countAccepted: countNativeAccepted,
}
