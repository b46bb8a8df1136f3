/** The bodies of HEC requests: envelopes, cut behind each or between array elements, and lines. */
import { HEC_METADATA, type HecPartOptions } from '../../../model/batch/hec-part.ts'
import {
  type BodyFormat,
  detectedFormat,
  lineFormat,
  measuredFormat,
} from '../../framing/body-format.ts'
import { ElementCutter } from '../../framing/cutters.ts'

/** The shortest envelope that is an event, `{"event":1}`, and the shortest line. */
const ENVELOPE_BYTES_MIN = 11
const LINE_BYTES_MIN = 2

const EVENTS = detectedFormat('hec', 'text', {
  array: 'hec-array',
  other: { framing: 'hec', createCutter: () => new ElementCutter('close') },
})

export const HEC_BODY = withMetadata(EVENTS, ENVELOPE_BYTES_MIN)
export const HEC_RAW_BODY = withMetadata(lineFormat('hec-raw', 'text'), LINE_BYTES_MIN)

/** What the URL says is in each event. */
function withMetadata(format: BodyFormat, eventBytesMin: number): BodyFormat {
  return measuredFormat(format, ({ length }, options) => {
    return length + Math.ceil(length / eventBytesMin) * metadataBytes(options ?? {})
  })
}

/** At most what it takes in an event. */
export function metadataBytes(options: HecPartOptions): number {
  let bytes = 0
  for (const name of HEC_METADATA) {
    const value = options[name]
    if (value !== undefined) bytes += Buffer.byteLength(JSON.stringify({ [name]: value }))
  }
  return bytes
}
