/** The ingest surfaces as a client sees them: paths, headers, and what an answer accepted. */
const PATHS = {
  native: '/v1/ingest',
  bulk: '/_bulk',
  otlp: '/v1/otlp/v1/logs',
  loki: '/loki/api/v1/push',
  hec: '/services/collector',
}

export function pathOf(surface) {
  return PATHS[surface]
}

/** `encodeBase64` is k6's: Elasticsearch clients send the key as a password. */
export function headersOf(surface, key, options, encodeBase64) {
  switch (surface) {
    case 'native':
      return { 'X-API-Key': key, 'Content-Type': 'application/x-ndjson' }
    case 'loki':
      return { 'X-API-Key': key, 'Content-Type': 'application/json' }
    case 'bulk':
      return {
        Authorization: `Basic ${encodeBase64(`load:${key}`)}`,
        'Content-Type': 'application/x-ndjson',
      }
    case 'hec':
      return { Authorization: `Splunk ${key}`, 'Content-Type': 'application/json' }
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

/** How many of `eventCount` events an answer with 200 or 204 accepted; -1 when it does not say. */
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
  // Without a text all of them.
  if (surface === 'loki') {
    return body ? Number(/^stored (\d+) entries; /.exec(body)?.[1] ?? -1) : eventCount
  }
  if (surface === 'bulk') return readBulkAccepted(body ?? '', eventCount)
  if (surface === 'hec') return JSON.parse(body).code === 0 ? eventCount : -1
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

const PARTIAL_SUCCESS = (1 << 3) | 2
const REJECTED_LOG_RECORDS = (1 << 3) | 0
const ERROR_MESSAGE = (2 << 3) | 2

/**
 * `rejected_log_records` of an answer in protobuf, which k6 has no package for: 0 when it has no
 * partial success, -1 when it cannot be read or has fields that an answer does not have.
 */
export function tryReadRejected(bytes) {
  if (bytes.length === 0) return 0
  const cursor = { bytes, at: 0 }
  if (readVarint(cursor) !== PARTIAL_SUCCESS) return -1
  if (readVarint(cursor) !== bytes.length - cursor.at) return -1
  let rejected = 0
  while (cursor.at < bytes.length) {
    const tag = readVarint(cursor)
    if (tag === REJECTED_LOG_RECORDS) rejected = readVarint(cursor)
    else if (tag === ERROR_MESSAGE) skipText(cursor)
    else return -1
  }
  return cursor.at === bytes.length ? rejected : -1
}

function skipText(cursor) {
  const length = readVarint(cursor)
  cursor.at += length
}

/** NaN past the end: equal to nothing, and no position is smaller than it. */
function readVarint(cursor) {
  let value = 0
  for (let scale = 1; cursor.at < cursor.bytes.length; scale *= 128) {
    const byte = cursor.bytes[cursor.at++]
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return value
  }
  return Number.NaN
}
