/**
 * Makes files of request bodies, in Node: k6's own JavaScript is too slow to encode megabytes, and
 * even to share them; virtual users slice them in no time.
 *
 * A file is body after body, each behind its length in four bytes, little-endian.
 */
import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'
import { hecEnvelopes } from '../../dist/bench/hec-request.js'
import { lokiJson, lokiProtobuf } from '../../dist/bench/loki-request.js'
import { makeExportRequest } from './otlp-request.mjs'

/** Distinct events in a file. Each user holds the file for a moment: 5 MB. */
const EVENTS_PER_FILE = 8_000
const BODIES_PER_FILE_MAX = 2_000
const BULK_ACTION = '{"create":{"_index":"load"}}\n'

const PROTO = readFileSync(new URL('../../proto/otlp-logs.proto', import.meta.url), 'utf8')
const requestType = protobuf.parse(PROTO).root.lookupType('sluice.otlp.ExportLogsServiceRequest')

/** At least two bodies, of the corpus's lines in turn. */
export function encodeBodies(lines, surface, eventCount) {
  const wanted = Math.ceil(EVENTS_PER_FILE / eventCount)
  const count = Math.min(BODIES_PER_FILE_MAX, Math.max(2, wanted))
  const bodies = Array.from({ length: count }, (_, body) => {
    const indexOf = (i) => (body * eventCount + i) % lines.length
    const chosen = Array.from({ length: eventCount }, (_, i) => lines[indexOf(i)])
    return MAKERS[surface](chosen)
  })
  const file = new Uint8Array(bodies.reduce((sum, { length }) => sum + 4 + length, 0))
  const view = new DataView(file.buffer)
  let at = 0
  for (const body of bodies) {
    view.setUint32(at, body.length, true)
    file.set(body, at + 4)
    at += 4 + body.length
  }
  return file
}

/** By surface: the body of one request, of lines of JSON. */
export const MAKERS = {
  native: joined,
  text: joined,
  bulk: (lines) => Buffer.from(lines.map((line) => `${BULK_ACTION}${line}\n`).join('')),
  otlp: (lines) => {
    const request = requestType.fromObject(withBinaryIds(exportRequest(lines)))
    return requestType.encode(request).finish()
  },
  'otlp-json': (lines) => Buffer.from(JSON.stringify(exportRequest(lines))),
  loki: lokiJson,
  'loki-protobuf': lokiProtobuf,
  hec: hecEnvelopes,
}

function joined(lines) {
  return Buffer.from(`${lines.join('\n')}\n`)
}

function exportRequest(lines) {
  return makeExportRequest(lines.map((line) => JSON.parse(line)))
}

/** Ids are hexadecimal in OTLP's JSON, and bytes in protobuf. */
function withBinaryIds(request) {
  for (const { scopeLogs } of request.resourceLogs) {
    for (const record of scopeLogs.flatMap(({ logRecords }) => logRecords)) {
      for (const member of ['traceId', 'spanId']) {
        if (record[member] !== undefined) record[member] = Buffer.from(record[member], 'hex')
      }
    }
  }
  return request
}
