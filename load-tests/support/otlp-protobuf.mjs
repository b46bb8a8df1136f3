/**
 * Encodes an export request of OTLP logs as protobuf, by hand, and reads the answer: k6 has no
 * packages. Field numbers as in `proto/otlp-logs.proto`; `test/load-tests/bodies.test.ts` has
 * protobufjs decode what is encoded here. Takes the JSON form of a request, so that both
 * encodings of a load test carry the same.
 */
export function encodeExportRequest(request) {
  const out = { bytes: new Uint8Array(64 * 1024), length: 0 }
  for (const resourceLogs of request.resourceLogs) {
    writeMessage(out, 1, () => writeResourceLogs(out, resourceLogs))
  }
  return out.bytes.slice(0, out.length)
}

const PARTIAL_SUCCESS = (1 << 3) | 2
const REJECTED_LOG_RECORDS = (1 << 3) | 0
const ERROR_MESSAGE = (2 << 3) | 2

/**
 * `rejected_log_records` of an answer: 0 when it has no partial success, -1 when it cannot be
 * read or has fields that an answer does not have.
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

function writeResourceLogs(out, { resource, scopeLogs }) {
  writeMessage(out, 1, () => writeAttributes(out, 1, resource.attributes))
  for (const { scope, logRecords } of scopeLogs) {
    writeMessage(out, 2, () => {
      writeMessage(out, 1, () => writeString(out, 1, scope.name))
      for (const record of logRecords) writeMessage(out, 2, () => writeRecord(out, record))
    })
  }
}

function writeRecord(out, record) {
  writeFixedNanos(out, 1, record.timeUnixNano)
  if (record.severityNumber !== undefined) writeVarintField(out, 2, record.severityNumber)
  if (record.severityText !== undefined) writeString(out, 3, record.severityText)
  writeMessage(out, 5, () => writeValue(out, record.body))
  writeAttributes(out, 6, record.attributes)
  if (record.traceId !== undefined) writeHex(out, 9, record.traceId)
  if (record.spanId !== undefined) writeHex(out, 10, record.spanId)
  writeFixedNanos(out, 11, record.observedTimeUnixNano)
}

function writeAttributes(out, field, attributes) {
  for (const { key, value } of attributes) {
    writeMessage(out, field, () => {
      writeString(out, 1, key)
      writeMessage(out, 2, () => writeValue(out, value))
    })
  }
}

function writeValue(out, value) {
  if (value.stringValue !== undefined) writeString(out, 1, value.stringValue)
  else if (value.boolValue !== undefined) writeVarintField(out, 2, value.boolValue ? 1 : 0)
  else if (value.intValue !== undefined) writeInt64(out, 3, value.intValue)
  else if (value.doubleValue !== undefined) writeDouble(out, 4, value.doubleValue)
  else if (value.arrayValue !== undefined) {
    writeMessage(out, 5, () => {
      for (const one of value.arrayValue.values) writeMessage(out, 1, () => writeValue(out, one))
    })
  }
}

/** Leaves two bytes for the length, which nearly always is the right number, and moves if not. */
function writeMessage(out, field, write) {
  writeTag(out, field, 2)
  reserve(out, 2)
  const start = out.length + 2
  out.length = start
  write()
  const length = out.length - start
  const lengthBytes = length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x20_0000 ? 3 : 4
  if (lengthBytes !== 2) {
    reserve(out, 2)
    out.bytes.copyWithin(start - 2 + lengthBytes, start, out.length)
  }
  out.length = start - 2
  writeVarint(out, length)
  out.length += length
}

function writeString(out, field, text) {
  writeMessage(out, field, () => writeUtf8(out, text))
}

function writeUtf8(out, text) {
  reserve(out, text.length * 3)
  const { bytes } = out
  let at = out.length
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i)
    if (code < 0x80) {
      bytes[at++] = code
      continue
    }
    if (code >= 0xd800 && code < 0xe000) {
      const low = code < 0xdc00 ? text.charCodeAt(i + 1) : Number.NaN
      const isPair = low >= 0xdc00 && low < 0xe000
      code = isPair ? 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd
      if (isPair) i++
    }
    if (code < 0x800) bytes[at++] = 0xc0 | (code >> 6)
    else {
      if (code < 0x1_0000) bytes[at++] = 0xe0 | (code >> 12)
      else {
        bytes[at++] = 0xf0 | (code >> 18)
        bytes[at++] = 0x80 | ((code >> 12) & 0x3f)
      }
      bytes[at++] = 0x80 | ((code >> 6) & 0x3f)
    }
    bytes[at++] = 0x80 | (code & 0x3f)
  }
  out.length = at
}

function writeHex(out, field, hex) {
  writeMessage(out, field, () => {
    reserve(out, hex.length / 2)
    for (let i = 0; i < hex.length; i += 2) {
      out.bytes[out.length++] = Number.parseInt(hex.slice(i, i + 2), 16)
    }
  })
}

function writeVarintField(out, field, value) {
  writeTag(out, field, 0)
  writeVarint(out, value)
}

/** Decimal text, as OTLP JSON has it; negative ones take ten bytes of two's complement. */
function writeInt64(out, field, text) {
  writeTag(out, field, 0)
  if (!text.startsWith('-') && text.length < 16) {
    writeVarint(out, Number(text))
    return
  }
  reserve(out, 10)
  let value = BigInt.asUintN(64, BigInt(text))
  while (value >= 0x80n) {
    out.bytes[out.length++] = Number(value & 0x7fn) | 0x80
    value >>= 7n
  }
  out.bytes[out.length++] = Number(value)
}

function writeDouble(out, field, value) {
  writeTag(out, field, 1)
  reserve(out, 8)
  new DataView(out.bytes.buffer).setFloat64(out.length, value, true)
  out.length += 8
}

/** Nanoseconds as decimal text: more than a number holds. */
function writeFixedNanos(out, field, text) {
  writeTag(out, field, 1)
  reserve(out, 8)
  new DataView(out.bytes.buffer).setBigUint64(out.length, BigInt(text), true)
  out.length += 8
}

function writeTag(out, field, wireType) {
  writeVarint(out, field * 8 + wireType)
}

/** Not negative and exact as a number. */
function writeVarint(out, value) {
  reserve(out, 8)
  let rest = value
  while (rest >= 0x80) {
    out.bytes[out.length++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  out.bytes[out.length++] = rest
}

function reserve(out, count) {
  if (out.length + count <= out.bytes.length) return
  const larger = new Uint8Array(Math.max(out.bytes.length * 2, out.length + count))
  larger.set(out.bytes)
  out.bytes = larger
}
