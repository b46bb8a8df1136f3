/**
 * Goal: server-sent events are read alike however the network cuts them.
 * Method: one text, cut everywhere.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readServerEvents } from '../../src/cli/server-events.ts'

const TEXT = [
  ': tail\nretry: 1000\n\n',
  'id: a\ndata: {"x":"é"}\n\n',
  ': ping\nid: b\n\n',
  'event: gap\r\nid: c\r\ndata: 1\r\ndata: 2\r\n\r\n',
  'event: end\ndata: {}\n\ndata: cut off',
].join('')

test('names, ids and data, cut at any byte', async () => {
  const bytes = Buffer.from(TEXT)
  for (let at = 0; at <= bytes.length; at++) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.subarray(0, at))
        controller.enqueue(bytes.subarray(at))
        controller.close()
      },
    })
    const events = []
    for await (const event of readServerEvents(body)) events.push(event)
    assert.deepEqual(events, [
      { name: 'message', data: '{"x":"é"}', id: 'a' },
      { name: 'message', data: '', id: 'b' },
      { name: 'gap', data: '1\n2', id: 'c' },
      { name: 'end', data: '{}', id: '' },
    ])
  }
})
