/**
 * The bodies of Loki's push requests. Neither is cut: snappy's raw format cannot be read from its
 * middle. It is decompressed by the worker that decodes it, so the main thread never waits for it.
 */
import { IngestError } from '../../../errors.ts'
import { BODY_BYTES_MAX } from '../../../limits.ts'
import { documentFormat, measuredFormat } from '../../framing/body-format.ts'

const EMPTY = new IngestError('malformed', 'the body is empty')
const LENGTH_BYTES_MAX = 5

export const LOKI_JSON_BODY = measuredFormat(documentFormat('loki-json', 'text'), ({ length }) => {
  return length === 0 ? EMPTY : length
})

export const LOKI_PROTOBUF_BODY = measuredFormat(
  documentFormat('loki-protobuf', 'binary'),
  (bytes) => {
    if (bytes.length === 0) return EMPTY
    const length = decompressedBytes(bytes)
    return length > BODY_BYTES_MAX ? tooLarge() : length
  },
)

/** What the body's beginning says. A lie is found by the decoder. */
function decompressedBytes(bytes: Uint8Array): number {
  let length = 0
  for (let i = 0, factor = 1; i < Math.min(bytes.length, LENGTH_BYTES_MAX); i++, factor *= 0x80) {
    length += (bytes[i]! & 0x7f) * factor
    if (bytes[i]! < 0x80) break
  }
  return Math.max(bytes.length, length)
}

function tooLarge(): IngestError {
  const text = `decompressed body is over ${BODY_BYTES_MAX} bytes (BODY_BYTES_MAX)`
  return new IngestError('too_large', text)
}
