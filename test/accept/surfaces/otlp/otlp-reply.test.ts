/** Goal: exporters read our replies. Method: literal bytes, and protobufjs reads them back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  OTLP_CONTENT_TYPES,
  otlpError,
  otlpPartialSuccess,
  otlpStatus,
  otlpSuccess,
} from '../../../../src/accept/surfaces/otlp/otlp-reply.ts'
import { ERRORS, IngestError } from '../../../../src/errors.ts'
import { otlpMessages } from '../../../decode/otlp/otlp-oracle.ts'

const response = otlpMessages.lookupType('sluice.otlp.ExportLogsServiceResponse')
const status = otlpMessages.lookupType('sluice.otlp.Status')
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

test('the content type is that of the request, without a charset', () => {
  assert.deepEqual(OTLP_CONTENT_TYPES, {
    protobuf: 'application/x-protobuf',
    json: 'application/json',
  })
})

test('success has no partial success', () => {
  assert.equal(otlpSuccess('protobuf').length, 0)
  assert.equal(text(otlpSuccess('json')), '{}')
  assert.equal(hex(response.encode({}).finish()), '')
})

test('partial success counts what is lost', () => {
  assert.equal(hex(otlpPartialSuccess('protobuf', 3, 'é')), '0a0608031202c3a9')
  assert.equal(
    text(otlpPartialSuccess('json', 3, 'a "b"')),
    '{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"a \\"b\\""}}',
  )
  for (const rejected of [0, 1, 127, 128, 300, 2 ** 31, 2 ** 40]) {
    for (const errorMessage of ['', 'x', 'ü'.repeat(100), 'long '.repeat(5_000)]) {
      const ours = otlpPartialSuccess('protobuf', rejected, errorMessage)
      const partialSuccess = { rejectedLogRecords: rejected, errorMessage }
      assert.equal(
        hex(ours),
        hex(response.encode(response.fromObject({ partialSuccess })).finish()),
      )
      const read = response.toObject(response.decode(ours), { longs: String, defaults: true })
      assert.deepEqual(read.partialSuccess, { rejectedLogRecords: String(rejected), errorMessage })
    }
  }
})

test('errors are google.rpc.Status', () => {
  assert.equal(hex(otlpStatus('protobuf', 400, 'bad')), '08031203626164')
  assert.equal(text(otlpStatus('json', 429, 'later')), '{"code":8,"message":"later"}')
  for (const message of ['', 'broken', 'é'.repeat(200)]) {
    for (const { httpStatus } of Object.values(ERRORS)) {
      const read = status.toObject(status.decode(otlpStatus('protobuf', httpStatus, message)))
      const { code, message: json } = JSON.parse(text(otlpStatus('json', httpStatus, message)))
      assert.deepEqual([read.code, read.message ?? ''], [code, message])
      assert.equal(json, message)
      assert(code > 0 && code !== 2, `a code for ${httpStatus}`)
    }
  }
  assert.equal(JSON.parse(text(otlpStatus('json', 418, ''))).code, 2)
  const overloaded = new IngestError('overloaded', 'full')
  assert.equal(text(otlpError('json', overloaded)), '{"code":8,"message":"full"}')
})
