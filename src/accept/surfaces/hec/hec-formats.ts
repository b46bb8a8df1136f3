/** The bodies of HEC requests: envelopes, cut behind each or between array elements, and lines. */
import { HEC_METADATA, type HecPartOptions } from '../../../model/batch/hec-part.ts'
import {
  type BodyFormat,
  detectedFormat,
  lineFormat,
  type WholePart,
} from '../../framing/body-format.ts'
import { ValueCutter } from '../../framing/cutters.ts'

/** The shortest envelope that is an event, `{"event":1}`, and the shortest line. */
const ENVELOPE_BYTES_MIN = 11
const LINE_BYTES_MIN = 2

const EVENTS = detectedFormat('hec', 'text', {
  array: 'hec-array',
  createOther: () => ({ framing: 'hec', cutter: new ValueCutter() }),
})

export const HEC_BODY = withMetadata(EVENTS, ENVELOPE_BYTES_MIN)
export const HEC_RAW_BODY = withMetadata(lineFormat('hec-raw', 'text'), LINE_BYTES_MIN)

/** What the URL says is in each event: where requests share a batch, that counts. */
function withMetadata(format: BodyFormat, eventBytesMin: number): BodyFormat {
  return {
    ...format,
    whole: (bytes, options) => {
      const whole = format.whole(bytes, options)
      const more = metadataBytes(options ?? {})
      if (more === 0 || 'code' in whole) return whole
      return withEventBytes(whole, Math.ceil(bytes.length / eventBytesMin) * more)
    },
  }
}

function withEventBytes(whole: WholePart, more: number): WholePart {
  return { ...whole, eventBytes: whole.bytes.length + more }
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
