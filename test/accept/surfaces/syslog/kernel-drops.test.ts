/**
 * Goal: what the kernel dropped of a UDP socket is read from its table.
 * Method: a table as it is written, and a socket of this process that nobody reads.
 */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readKernelDrops } from '../../../../src/accept/surfaces/syslog/kernel-drops.ts'

const HEAD =
  '   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt' +
  '   uid  timeout inode ref pointer drops'
const line = (address: string, drops: number) => {
  const rest = '00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 5 2 0'
  return `  77: ${address} ${rest} ${drops}`
}

test('by the port, in both tables', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-drops-'))
  t.after(() => rmSync(folder, { recursive: true }))
  assert.equal(await readKernelDrops(5514, folder), undefined)
  writeFileSync(join(folder, 'udp'), [HEAD, line('0100007F:158A', 7), line('0:158B', 9)].join('\n'))
  assert.equal(await readKernelDrops(5514, folder), 7)
  writeFileSync(join(folder, 'udp6'), [HEAD, line(`${'0'.repeat(32)}:158A`, 3), ''].join('\n'))
  assert.equal(await readKernelDrops(5514, folder), 10)
  assert.equal(await readKernelDrops(514, folder), undefined)
})

const skip = existsSync('/proc/net/udp') ? false : 'no /proc/net/udp here'
test('of a socket', { skip }, async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  socket.setRecvBufferSize(4_096)
  const { port } = socket.address()
  const sender = createSocket('udp4')
  const bytes = Buffer.alloc(2_000)
  // Without a turn of the event loop in between: nobody reads.
  for (let i = 0; i < 50; i++) sender.send(bytes, port, '127.0.0.1')
  await new Promise((resolve) => sender.send(bytes, port, '127.0.0.1', resolve))
  const dropped = await readKernelDrops(port)
  assert.ok(dropped !== undefined && dropped > 0, `${dropped} dropped`)
  sender.close()
  socket.close()
})
