/** The ingest surfaces as a client sees them: bodies, headers, and what an answer accepted. */
import { encodeExportRequest, tryReadRejected } from './otlp-protobuf.mjs'
import { makeExportRequest } from './otlp-request.mjs'

export const SURFACES = ['native', 'bulk', 'otlp']

const BULK_ACTION = '{"create":{"_index":"load"}}\n'
const PATHS = { native: '/v1/ingest', bulk: '/_bulk', otlp: '/v1/otlp/v1/logs' }

/** The body of one request, as bytes. Not in k6, which has no TextEncoder. */
export function makeBody(surface, lines, options) {
  const encodeUtf8 = (text) => new TextEncoder().encode(text)
  switch (surface) {
    case 'native':
      return encodeUtf8(`${lines.join('\n')}\n`)
    case 'bulk':
      return encodeUtf8(lines.map((line) => `${BULK_ACTION}${line}\n`).join(''))
    case 'otlp': {
      const request = makeExportRequest(lines.map((line) => JSON.parse(line)))
      return options.OTLP_ENCODING === 'json'
        ? encodeUtf8(JSON.stringify(request))
        : encodeExportRequest(request)
    }
    default:
      throw new Error(`no such surface: ${surface}`)
  }
}

export function pathOf(surface) {
  return PATHS[surface]
}

/** `encodeBase64` is k6's: Elasticsearch clients send the key as a password. */
export function headersOf(surface, key, options, encodeBase64) {
  switch (surface) {
    case 'native':
      return { 'X-API-Key': key, 'Content-Type': 'application/x-ndjson' }
    case 'bulk':
      return {
        Authorization: `Basic ${encodeBase64(`load:${key}`)}`,
        'Content-Type': 'application/x-ndjson',
      }
    default:
      return {
        'X-API-Key': key,
        'Content-Type':
          options.OTLP_ENCODING === 'json' ? 'application/json' : 'application/x-protobuf',
      }
  }
}

/** Answers of OTLP in protobuf are bytes. */
export function isAnswerBinary(surface, options) {
  return surface === 'otlp' && options.OTLP_ENCODING === 'protobuf'
}

/** How many of `eventCount` events an answer with 200 accepted; -1 when it does not say. */
export function tryReadAccepted(surface, body, eventCount, options) {
  try {
    return readAccepted(surface, body, eventCount, options)
  } catch {
    return -1 // No JSON, or none of ours.
  }
}

function readAccepted(surface, body, eventCount, options) {
  if (surface === 'native') {
    const match = /"accepted":(\d+)/.exec(body ?? '')
    return match === null ? -1 : Number(match[1])
  }
  if (surface === 'bulk') return readBulkAccepted(body ?? '', eventCount)
  const rejected = isAnswerBinary(surface, options)
    ? tryReadRejected(new Uint8Array(body ?? new ArrayBuffer(0)))
    : Number(JSON.parse(body || '{}').partialSuccess?.rejectedLogRecords ?? 0)
  return rejected >= 0 && rejected <= eventCount ? eventCount - rejected : -1
}

/** Clients search the beginning of an answer too: an item an event is long to parse. */
function readBulkAccepted(body, eventCount) {
  if (body.slice(0, 200).includes('"errors":false')) return eventCount
  const { items } = JSON.parse(body)
  return items.filter((item) => Object.values(item)[0]?.status < 300).length
}
