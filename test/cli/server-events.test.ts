/**
 * Goal: server-sent events are read alike however the network cuts them, and what was not read
 * whole is asked for again.
 * Method: one text, cut everywhere; a command line whose connection breaks.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Invocation } from '../../src/cli/command.ts'
import { readServerEvents } from '../../src/cli/server-events.ts'
import { tail } from '../../src/cli/tail.ts'

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

test('who stops reading ends the body', async () => {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from('id: a\ndata: 1\n\n')),
    cancel: () => void (isCancelled = true),
  })
  for await (const { id } of readServerEvents(body)) {
    assert.equal(id, 'a')
    break
  }
  assert.ok(isCancelled)
})

test('an event of which only the id came is asked for again', async () => {
  const bodies = [
    'id: a\ndata: {"n":1}\n\nid: b\nda',
    'event: end\ndata: {"reason":"stream_deleted"}\n\n',
  ]
  const asked: (string | undefined)[] = []
  const lines: string[] = []
  const client = {
    listStreams: () => Promise.resolve([{ id: '1', name: 'web' }]),
    call: (_path: string, { headers }: { headers: Record<string, string> }) => {
      asked.push(headers['Last-Event-ID'])
      return Promise.resolve(new Response(bodies[asked.length - 1]))
    },
  }
  const terminal = { note: () => undefined, json: (text: string) => lines.push(text) }
  const signal = new AbortController().signal
  const asking = { client, terminal, signal, positionals: ['web'], values: { json: true } }
  assert.equal(await tail.run(asking as unknown as Invocation), 0)
  assert.deepEqual([asked, lines], [[undefined, 'a'], ['{"n":1}']])
})
