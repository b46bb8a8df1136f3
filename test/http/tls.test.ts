/**
 * Goal: over TLS the same server works, bodies and pauses included.
 * Method: a self-signed certificate made by openssl for the run; skipped where there is none.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { TlsFiles } from '../../src/http/engine.ts'
import type { Exchange } from '../../src/http/exchange.ts'
import { createServer } from '../../src/http/server.ts'
import { ENGINES, echo, startServer } from './raw-client.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'))
after(() => rmSync(folder, { recursive: true }))
const tls = tryMakeCertificate()

function tryMakeCertificate(): TlsFiles | undefined {
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  const subject = ['-subj', '/CN=localhost', '-days', '2', '-nodes', '-newkey', 'rsa:2048']
  const out = ['-keyout', files.keyFile, '-out', files.certFile]
  try {
    execFileSync('openssl', ['req', '-x509', ...subject, ...out], { stdio: 'ignore' })
    return files
  } catch (error) {
    console.log(`TLS is not tested: openssl cannot make a certificate (${String(error)})`)
    return undefined
  }
}

function send(port: number, path: string, body: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method: 'POST', rejectUnauthorized: false }
    const outgoing = request({ ...options, agent: false }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => resolve(Buffer.concat(chunks)))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

const skip = tls === undefined ? 'no openssl' : false
for (const engine of ENGINES) {
  describe(`TLS on ${engine.name}`, { skip }, () => {
    test('a body comes back as it was sent', async () => {
      const routes = [{ method: 'POST', pattern: '/', handler: echo }] as const
      const { server, port } = await startServer({ routes, tls, engine })
      const body = Buffer.alloc(3_000_000, 'sluice ')
      assert(body.equals(await send(port, '/', body)))
      server.close()
    })

    test('a body that is paused at every chunk arrives whole', async () => {
      let bytesSeen = 0
      const handler = (exchange: Exchange) =>
        exchange.readBody({
          chunk: (bytes, isLast) => {
            bytesSeen += bytes.length
            exchange.pause()
            setTimeout(() => exchange.resume(), 2)
            if (isLast) exchange.reply({ status: 200, body: String(bytesSeen) })
          },
          aborted: () => undefined,
        })
      const routes = [{ method: 'POST', pattern: '/', handler }] as const
      const { server, port } = await startServer({ routes, tls, engine })
      assert.equal(String(await send(port, '/', Buffer.alloc(5_000_000))), '5000000')
      server.close()
    })

    test('files that are no certificate are named with their options', () => {
      const wrong = { certFile: '/nonexistent/cert', keyFile: '/nonexistent/key' }
      assert.throws(
        () => createServer({ routes: [], onError: () => undefined, tls: wrong, engine }),
        /\/nonexistent\/cert \(--tls-cert\) and \/nonexistent\/key \(--tls-key\)/,
      )
    })
  })
}
