/**
 * Stands in for Sluice where the bench itself is tested: the few endpoints the bench calls, events
 * counted in memory, a token file, and an address on stdout. Started as a child with `--data DIR`.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const dataDirectory = process.argv[process.argv.indexOf('--data') + 1]!
const TOKEN = 'lap_test_token'
const streams: { events: number; bytes: number }[] = []

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = JSON.stringify(route(request, Buffer.concat(chunks)))
  response.writeHead(200, { 'content-length': Buffer.byteLength(text) }).end(text)
}

function route(request: IncomingMessage, body: Buffer): object {
  const url = request.url ?? ''
  if (url.startsWith('/v1/ingest')) {
    const stream = streams[Number(String(request.headers['x-api-key']).slice('lax_'.length))]!
    const accepted = body.toString().split('\n').length - 1
    stream.events += accepted
    stream.bytes += body.length
    return { accepted, rejected: 0, errors: [] }
  }
  if (request.headers.authorization !== `Bearer ${TOKEN}`) throw new Error('no token')
  const [, id, rest] = /^\/v1\/streams\/(\d+)\/(\w+)$/.exec(url) ?? []
  if (id === undefined) {
    if (request.method === 'POST') streams.push({ events: 0, bytes: 0 })
    return { id: String(streams.length - 1) }
  }
  if (rest === 'keys') return { key: `lax_${id}` }
  const { events, bytes } = streams[Number(id)]!
  if (rest === 'query') return { rows: [{ count: events }], total: events }
  return { events, stored_bytes: { raw: bytes, projection: bytes * 2 } }
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: Error) => response.destroy(error))
})
server.listen(0, '127.0.0.1', () => {
  mkdirSync(join(dataDirectory, 'postgres', 'base'), { recursive: true })
  writeFileSync(join(dataDirectory, 'postgres', 'base', '1'), Buffer.alloc(10_000))
  writeFileSync(join(dataDirectory, 'admin-token'), `${TOKEN}\n`, { mode: 0o600 })
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.once('SIGTERM', () => process.exit(0))
