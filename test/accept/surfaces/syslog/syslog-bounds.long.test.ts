/**
 * Goal: what one sender, and all of them together, may cost a listener of syslog is bounded; the
 * listener of a deleted stream ends.
 * Method: as in syslog-listeners.test.ts, up to the real bounds.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CONTROL_POLL_MS,
  SYSLOG_ADDRESS_CONNECTIONS_MAX,
  SYSLOG_HALVES_BYTES_MAX,
  SYSLOG_MESSAGE_BYTES_MAX,
  SYSLOG_QUEUE_BYTES_MAX,
} from '../../../../src/limits.ts'
import { openConnection, openListeners, until } from './syslog-harness.ts'

const TCP = 'tcp://127.0.0.1:0?stream=1'
const CHUNK_BYTES = 64 * 1024

test('all connections together are held to the bound of their listener', async () => {
  const harness = await openListeners([TCP], { drainTimeoutMs: 20 })
  harness.hold = new Promise(() => undefined)
  const sockets = await Promise.all([1, 2, 3, 4].map(() => openConnection(harness)))
  const text = `<1>${'x'.repeat(CHUNK_BYTES / 2)}\n`.repeat(200)
  for (const socket of sockets) socket.write(text)
  const waiting = () => harness.metric('ingest_syslog_waiting_bytes')
  await until(async () => (await waiting()) >= SYSLOG_QUEUE_BYTES_MAX)
  await sleep(50)
  assert.ok((await waiting()) < SYSLOG_QUEUE_BYTES_MAX + 4 * CHUNK_BYTES)
  for (const socket of sockets) socket.destroy()
  await harness.stop()
})

test('the listener of a deleted stream closes, and tells what it lost', async () => {
  const harness = await openListeners([TCP])
  const socket = await openConnection(harness)
  harness.stream = undefined
  await sleep(CONTROL_POLL_MS)
  socket.write('<1>one\n')
  await once(socket.resume(), 'close')
  assert.match(harness.logged.join('\n'), /messages were lost .*"messages":1.*stream is deleted/)
  assert.match(harness.logged.join('\n'), /a syslog listener is closed: its stream is deleted/)
  await assert.rejects(openConnection(harness), /ECONNREFUSED/)
  await harness.stop()
})

test('an address has so many connections', async () => {
  const harness = await openListeners([TCP])
  const all = Array.from({ length: SYSLOG_ADDRESS_CONNECTIONS_MAX }, () => openConnection(harness))
  const sockets = await Promise.all(all)
  await until(async () => (await harness.metric('ingest_syslog_connections')) === sockets.length)
  const extra = await openConnection(harness)
  await once(extra.resume(), 'close')
  sockets[0]!.end('<1>still heard\n')
  await until(() => harness.messages.length === 1)
  for (const socket of sockets) socket.destroy()
  await harness.stop()
})

test('halves of messages have room together; whose half finds none is closed', async () => {
  const harness = await openListeners([TCP])
  const half = Buffer.alloc(SYSLOG_MESSAGE_BYTES_MAX - 1, '<1>x')
  const count = Math.ceil(SYSLOG_HALVES_BYTES_MAX / half.length) + 5
  const sockets: Socket[] = []
  for (let i = 0; i < count; i++) {
    const localAddress = i < SYSLOG_ADDRESS_CONNECTIONS_MAX ? '127.0.0.1' : '127.0.0.2'
    const socket = await openConnection(harness, localAddress)
    socket.write(half)
    sockets.push(socket)
  }
  const closed = 'ingest_syslog_connections_refused_total{reason="halves"}'
  await until(async () => (await harness.metric(closed)) > 0)
  const first = sockets[0]!
  first.write('\n<1>whole\n')
  await until(() => harness.messages.includes('whole'))
  for (const socket of sockets) socket.destroy()
  await until(async () => (await harness.metric('ingest_syslog_connections')) === 0)
  assert.equal(
    await harness.metric('ingest_syslog_dropped_total{reason="connection"}'),
    await harness.metric(closed),
  )
  await harness.stop()
})
