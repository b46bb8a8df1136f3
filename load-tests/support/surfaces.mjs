/**
 * The ingest surfaces as a client sees them, for the load tests and `bench:e2e`: path, headers, and
 * what an answer accepted. How bodies are made: `make-bodies.mjs`. Pure: runs in Node and in k6.
 */
const byApiKey = (key) => ['X-API-Key', key]

/**
 * `keyHeader` presents a key; `encodeBase64` is the engine's. `readAccepted` says how many of the
 * events that were sent an answer with 200 or 204 accepted; it may throw, or be below zero, where
 * the answer does not say. `isAnswerBinary`: it takes bytes.
 */
export const SURFACES = {
  native: {
    path: '/v1/ingest',
    contentType: 'application/x-ndjson',
    keyHeader: byApiKey,
    readAccepted: readNative,
  },
  text: {
    path: '/v1/ingest/text',
    contentType: 'text/plain',
    keyHeader: byApiKey,
    readAccepted: readNative,
  },
  bulk: {
    path: '/_bulk',
    contentType: 'application/x-ndjson',
    // Clients of Elasticsearch send the key as a password.
    keyHeader: (key, encodeBase64) => ['Authorization', `Basic ${encodeBase64(`load:${key}`)}`],
    readAccepted: readBulk,
  },
  otlp: {
    path: '/v1/otlp/v1/logs',
    contentType: 'application/x-protobuf',
    keyHeader: byApiKey,
    isAnswerBinary: true,
    readAccepted: (body, sent) => lessRejected(sent, tryReadRejected(body)),
  },
  'otlp-json': {
    path: '/v1/otlp/v1/logs',
    contentType: 'application/json',
    keyHeader: byApiKey,
    readAccepted: (body, sent) => {
      const { partialSuccess } = JSON.parse(body || '{}')
      return lessRejected(sent, Number(partialSuccess?.rejectedLogRecords ?? 0))
    },
  },
  loki: {
    path: '/loki/api/v1/push',
    contentType: 'application/json',
    keyHeader: byApiKey,
    readAccepted: readLoki,
  },
  'loki-protobuf': {
    path: '/loki/api/v1/push',
    contentType: 'application/x-protobuf',
    keyHeader: byApiKey,
    readAccepted: readLoki,
  },
  hec: {
    path: '/services/collector',
    contentType: 'application/json',
    keyHeader: (key) => ['Authorization', `Splunk ${key}`],
    readAccepted: (body, sent) => (JSON.parse(body).code === 0 ? sent : -1),
  },
}

/** How many of `eventCount` events an answer with 200 or 204 accepted; -1 when it does not say. */
export function tryReadAccepted(surface, body, eventCount) {
  const { readAccepted, isAnswerBinary } = SURFACES[surface]
  try {
    const answer = isAnswerBinary ? new Uint8Array(body ?? new ArrayBuffer(0)) : (body ?? '')
    return readAccepted(answer, eventCount)
  } catch {
    return -1 // No JSON, or none of ours.
  }
}

function readNative(body) {
  const match = /"accepted":\s*(\d+)/.exec(body)
  return match === null ? -1 : Number(match[1])
}

/** Clients search the beginning of an answer too: an item an event is long to parse. */
function readBulk(body, sent) {
  if (body.slice(0, 200).includes('"errors":false')) return sent
  const { items } = JSON.parse(body)
  return items.filter((item) => Object.values(item)[0]?.status < 300).length
}

/** Without a text all of them. */
function readLoki(body, sent) {
  return body === '' ? sent : Number(/^stored (\d+) entries; /.exec(body)?.[1] ?? -1)
}

function lessRejected(sent, rejected) {
  return rejected >= 0 && rejected <= sent ? sent - rejected : -1
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
