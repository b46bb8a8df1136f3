/**
 * Goal: what listeners of syslog read is committed, whoever sends it and however it ends; who sends
 * too fast over TCP waits, and what is lost over UDP is told.
 * Method: sockets of this process against listeners whose commits are held by hand.
 */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { test } from 'node:test'
import { SYSLOG_CONNECTION_BYTES_MAX } from '../../../../src/limits.ts'
import { SYSLOG_CUT } from '../../../../src/model/batch/syslog-part.ts'
import { openConnection, openListeners, recordsOf, until } from './syslog-harness.ts'

const TCP = 'tcp://127.0.0.1:0?stream=1'
const UDP = 'udp://127.0.0.1:0?stream=1'
const CHUNK_BYTES = 64 * 1024

test('a hundred senders share batches; each message says whose it is', async () => {
  const harness = await openListeners([`${TCP}&timezone=Europe/Berlin`])
  const sockets = await Promise.all(Array.from({ length: 100 }, () => openConnection(harness)))
  for (const [i, socket] of sockets.entries()) {
    const message = `<1>m${i}`
    socket.end(i % 2 ? `${message}\n` : `${message.length} ${message}`)
  }
  await until(() => harness.messages.length === 100)
  assert.ok(harness.batches.length <= 10, `${harness.batches.length} batches`)
  const { framing, options } = harness.batches[0]!.parts[0]!
  assert.deepEqual([framing, options], ['syslog', { timeZone: 'Europe/Berlin' }])
  assert.ok(recordsOf(harness).every(({ peer }) => peer === '127.0.0.1'))
  await harness.stop()
})

test('who sends too fast is not read, and others are; nothing is lost', async () => {
  const harness = await openListeners([TCP])
  let release = (): void => undefined
  harness.hold = new Promise((resolve) => {
    release = resolve
  })
  const flood = await openConnection(harness)
  const text = 'x'.repeat(CHUNK_BYTES / 2 - 20)
  const count = (4 * SYSLOG_CONNECTION_BYTES_MAX) / (CHUNK_BYTES / 2)
  for (let i = 0; i < count; i++) flood.write(`<1>${i} ${text}\n`)
  const waiting = () => harness.metric('ingest_syslog_waiting_bytes')
  await until(async () => (await waiting()) >= SYSLOG_CONNECTION_BYTES_MAX)
  const other = await openConnection(harness)
  other.end('<1>quiet\n')
  await until(() => recordsOf(harness).some(({ message }) => message === '<1>quiet'))
  assert.ok((await waiting()) < SYSLOG_CONNECTION_BYTES_MAX + 4 * CHUNK_BYTES)
  assert.ok(flood.writableLength > 0, 'its sender waits')
  release()
  await until(() => harness.messages.length === count + 1)
  const numbers = harness.messages.flatMap((message) => /^(\d+) x/.exec(message)?.[1] ?? [])
  assert.deepEqual(numbers.map(Number), [...Array(count).keys()])
  flood.destroy()
  await harness.stop()
})

test('what was read of a connection that is held is committed when the service stops', async () => {
  const harness = await openListeners([TCP])
  let release = (): void => undefined
  harness.hold = new Promise((resolve) => {
    release = resolve
  })
  const socket = await openConnection(harness)
  const line = `<1>${'x'.repeat(CHUNK_BYTES / 2)}\n`
  socket.write(line.repeat((2 * SYSLOG_CONNECTION_BYTES_MAX) / (CHUNK_BYTES / 2)))
  const read = () => harness.metric('ingest_syslog_messages_total{transport="tcp"}')
  await until(async () => (await read()) * line.length >= SYSLOG_CONNECTION_BYTES_MAX)
  const before = await read()
  const stopped = harness.stop()
  await until(async () => (await harness.metric('ingest_syslog_connections')) === 0)
  release()
  await stopped
  assert.ok(harness.messages.length > before, 'also what lay in its buffer')
  assert.equal(harness.messages.length, await read())
  socket.destroy()
})

test('a stop commits what was read, and half a message as cut', async () => {
  const harness = await openListeners([TCP])
  const socket = await openConnection(harness)
  const other = await openConnection(harness)
  socket.write('<1>one\n<1>two\n<1>half')
  other.end('<1>last')
  await until(async () => (await harness.metric('ingest_syslog_waiting_bytes')) > 0)
  await harness.stop()
  assert.deepEqual(harness.messages.toSorted(), ['half', 'last', 'one', 'two'])
  const cut = recordsOf(harness).filter(({ flags }) => flags === SYSLOG_CUT)
  assert.deepEqual(
    cut.map(({ message }) => message),
    ['<1>half'],
  )
  socket.destroy()
})

test('a datagram is a message; what finds no room is counted and told to the stream', async () => {
  const harness = await openListeners([UDP], { drainTimeoutMs: 20 })
  const socket = createSocket('udp4')
  const send = (text: string) => {
    return new Promise<void>((resolve) => {
      socket.send(text, harness.ports[0]!, '127.0.0.1', () => setImmediate(resolve))
    })
  }
  await send('<1>a\nb\r\n\0')
  await send('\n')
  await until(() => harness.messages.length === 1)
  assert.equal(recordsOf(harness)[0]!.message, '<1>a\nb')
  harness.hold = new Promise(() => undefined)
  const text = `<1>${'x'.repeat(60_000)}`
  const dropped = () => harness.metric('ingest_syslog_dropped_total{reason="queue_full"}')
  while ((await dropped()) < 3) await send(text)
  socket.close()
  await harness.stop()
  const [refusal] = harness.refusals
  assert.equal(refusal?.events, await dropped())
  assert.match(refusal.error.message, /SYSLOG_QUEUE_BYTES_MAX/)
  assert.match(harness.logged.join('\n'), /messages were lost .*SYSLOG_QUEUE_BYTES_MAX/)
})

test('an id that no stream has stops the start', async () => {
  const wrong = openListeners(['tcp://127.0.0.1:0?stream=9'])
  await assert.rejects(wrong, /there is no stream 9; --syslog \(SLUICE_SYSLOG\) names it/)
})

test('a port in use stops the start, over both protocols, and leaves nothing open', async () => {
  const harness = await openListeners([TCP, UDP])
  for (const [transport, port] of [
    ['tcp', harness.ports[0]],
    ['udp', harness.ports[1]],
  ]) {
    const again = openListeners([TCP, `${transport}://127.0.0.1:${port}?stream=1`])
    await assert.rejects(again, /another process uses this port; choose others with --syslog/)
  }
  await harness.stop()
})
