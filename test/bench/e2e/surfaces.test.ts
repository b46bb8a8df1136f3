/** Goal: what the load client counts as acknowledged is what the service said it stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findPreset, PRESETS } from '../../../bench/e2e/scenario.ts'
import { findSurface } from '../../../bench/e2e/surfaces/all.ts'

const LINES = ['{"a":1,"timestamp":"2026-01-01T00:00:00Z"}', '{"a":[1.5,"x",null]}']

test('every preset has its surface', () => {
  for (const { surface } of PRESETS) assert.equal(findSurface(surface).name, surface)
  assert.equal(findPreset('bulk-gzip').isGzip, true)
  assert.throws(
    () => findSurface('carrier-pigeon'),
    /there are json, text, bulk, otlp, otlp-grpc, hec, loki, loki-protobuf/,
  )
})

test('bulk: pairs, Basic credentials, only items with 201 count', () => {
  const bulk = findSurface('bulk')
  const action = '{"create":{"_index":"logs"}}'
  const body = `${action}\n${LINES[0]}\n${action}\n${LINES[1]}\n`
  assert.equal(bulk.encodeBody(LINES).toString(), body)
  assert.equal(bulk.authorization('lax_x'), 'Authorization: Basic bG9hZDpsYXhfeA==')
  const item = (status: number) => `{"create":{"_index":"logs","status":${status}}}`
  const reply = `{"took":1,"errors":true,"items":[${[201, 400, 201].map(item).join(',')}]}`
  assert.equal(bulk.countAccepted(reply, 3), 2)
  assert.equal(bulk.countAccepted('{}', 3), 0)
})

test('OTLP: what a reply does not reject is acknowledged', () => {
  const otlp = findSurface('otlp')
  assert.ok(otlp.encodeBody(LINES).length > 50)
  assert.equal(otlp.countAccepted('', 2), 2)
  assert.equal(otlp.countAccepted('\n\u0000', 2), 2)
  assert.equal(otlp.countAccepted('\n\u0002\b\u0001', 2), 1)
  assert.equal(otlp.countAccepted('<html>', 2), 0)
})

test('Loki: entries at times of their own, an answer with a text says how many', () => {
  const loki = findSurface('loki')
  const [stream] = JSON.parse(loki.encodeBody(LINES).toString()).streams
  assert.deepEqual(
    stream.values.map(([, line]: readonly string[]) => line),
    LINES,
  )
  assert.match(loki.authorization('lax_x'), /\r\nX-API-Key: lax_x$/)
  assert.deepEqual(
    [loki.countAccepted('', 2), loki.countAccepted('stored 1 entries; 1 were', 2)],
    [2, 1],
  )
})

test('HEC: an envelope an event, only success acknowledges', () => {
  const hec = findSurface('hec')
  const body = hec.encodeBody(LINES).toString()
  assert.match(body, /^\{"time":\d+\.000,"event":\{"a":1,.*\}\}\{"time":\d+\.001,"event":/)
  assert.equal(hec.countAccepted('{"text":"Success","code":0}', 2), 2)
  assert.equal(hec.countAccepted('{"text":"Server is busy","code":9}', 2), 0)
})
