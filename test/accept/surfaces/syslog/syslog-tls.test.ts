/**
 * Goal: syslog over TLS, with the service's certificate or the listener's own; where it asks for
 * certificates of clients, nobody gets in without one that its authority has signed.
 * Method: certificates made by openssl for the run; skipped where there is none.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { SYSLOG_HANDSHAKE_MS_MAX } from '../../../../src/limits.ts'
import { type Harness, openListeners, recordsOf, until } from './syslog-harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-syslog-'))
after(() => rmSync(folder, { recursive: true }))
const file = (name: string) => join(folder, name)
const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** An authority, and what it signed; and a stranger that signed itself. */
function tryMakeCertificates(): boolean {
  const signSelf = (name: string) => {
    const out = ['-keyout', file(`${name}.key`), '-out', file(`${name}.pem`)]
    openssl('req', '-x509', ...EC, '-subj', `/CN=${name}`, '-days', '2', ...out)
  }
  try {
    signSelf('ca')
    signSelf('stranger')
    for (const name of ['localhost', 'client']) {
      const out = ['-keyout', file(`${name}.key`), '-out', file(`${name}.csr`)]
      openssl('req', ...EC, '-subj', `/CN=${name}`, ...out)
      const by = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial']
      openssl('x509', '-req', '-in', out[3]!, ...by, '-days', '2', '-out', file(`${name}.pem`))
    }
    return true
  } catch (error) {
    console.log(`TLS is not tested: openssl cannot make certificates (${String(error)})`)
    return false
  }
}

const skip = tryMakeCertificates() ? false : 'no openssl'
const certificateOf = (name: string) => ({
  cert: readFileSync(file(`${name}.pem`)),
  key: readFileSync(file(`${name}.key`)),
})
const URL = 'tls://127.0.0.1:0?stream=1'
const OWN = `&cert=${file('localhost.pem')}&key=${file('localhost.key')}`

function open({ ports }: Harness, options: ConnectionOptions = {}): TLSSocket {
  const ca = readFileSync(file('ca.pem'))
  const socket = connect({
    host: '127.0.0.1',
    port: ports[0]!,
    servername: 'localhost',
    ca,
    ...options,
  })
  socket.on('error', () => undefined)
  return socket
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.resume().once('close', () => resolve()))
}

test('with the certificate of the service', { skip }, async () => {
  const tls = { certFile: file('localhost.pem'), keyFile: file('localhost.key') }
  const harness = await openListeners([URL], { tls })
  open(harness).end('6 <1>a\nb<1>c')
  await until(() => harness.messages.length === 2)
  assert.deepEqual(
    recordsOf(harness).map(({ peer, message }) => [peer, message]),
    [
      ['127.0.0.1', '<1>a\nb'],
      ['127.0.0.1', '<1>c'],
    ],
  )
  const plain = connectTcp(harness.ports[0]!, '127.0.0.1').on('error', () => undefined)
  plain.end('<1>plain\n')
  await closed(plain)
  const refused = 'ingest_syslog_connections_refused_total{reason="handshake"}'
  assert.equal(await harness.metric(refused), 1)
  assert.match(harness.logged.join('\n'), /TLS handshakes of syslog fail/)
  assert.equal(harness.messages.length, 2)
  await until(async () => (await harness.metric('ingest_syslog_connections')) === 0)
  await harness.stop()
})

test('with certificates of clients', { skip }, async () => {
  const harness = await openListeners([`${URL}${OWN}&ca=${file('ca.pem')}`])
  for (const options of [{}, certificateOf('stranger')]) {
    const refused = open(harness, options)
    refused.write('<1>stranger\n')
    await closed(refused)
  }
  open(harness, certificateOf('client')).end('<1>client\n')
  await until(() => harness.messages.length > 0)
  assert.deepEqual(harness.messages, ['client'])
  await harness.stop()
})

test('a stop takes what is under way, and waits for no handshake', { skip }, async () => {
  const harness = await openListeners([URL + OWN])
  const silent = connectTcp(harness.ports[0]!, '127.0.0.1').on('error', () => undefined)
  const socket = open(harness)
  socket.write('<1>a\n<1>half')
  await until(async () => (await harness.metric('ingest_syslog_waiting_bytes')) > 0)
  const beganMs = performance.now()
  await harness.stop()
  assert.ok(performance.now() - beganMs < SYSLOG_HANDSHAKE_MS_MAX / 2)
  assert.deepEqual(harness.messages, ['a', 'half'])
  silent.destroy()
  socket.destroy()
})

test('what is no certificate stops the start', { skip }, async () => {
  const wrong = file('wrong.pem')
  writeFileSync(wrong, 'nonsense')
  const opened = openListeners([`${URL}&cert=${wrong}&key=${file('ca.key')}`])
  await assert.rejects(opened, /the certificates of --syslog \(SLUICE_SYSLOG\) cannot be used/)
})
