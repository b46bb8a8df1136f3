import { joinLines } from '../../corpus.ts'
import { countNativeAccepted, type Surface } from './surface.ts'

export const json: Surface = {
  name: 'json',
  path: '/v1/ingest',
  contentType: 'application/x-ndjson',
  corpus: 'json',
  encodeBody: joinLines,
  countAccepted: countNativeAccepted,
}
