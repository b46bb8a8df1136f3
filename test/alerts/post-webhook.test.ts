/**
 * Goal: a URL that a client names reaches no address of the inside; what answers oddly costs its
 * time and 4 KiB, no more.
 * Method: a server on loopback, allowed and not, under names that the test resolves.
 */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { AddressRefusedError } from '../../src/alerts/allowed-address.ts'
import { postWebhook } from '../../src/alerts/post-webhook.ts'
import { isPublicAddress } from '../../src/alerts/public-address.ts'
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_MS_MAX } from '../../src/limits.ts'

const NEVER = new AbortController().signal
let port = 0
const seen: { readonly path: string; readonly host: string; readonly body: string }[] = []
let written = 0

const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const path = request.url ?? ''
  seen.push({ path, host: request.headers.host ?? '', body })
  if (path === '/hang') return
  if (path === '/moved') response.writeHead(302, { Location: `http://127.0.0.1:${port}/inside` })
  else if (path === '/busy') response.writeHead(429, { 'Retry-After': '7' })
  else response.writeHead(200)
  if (path !== '/long') return void response.end('ok')
  const more = () => {
    if (response.destroyed) return
    written += 1_024
    response.write('x'.repeat(1_024))
    setTimeout(more, 1)
  }
  more()
})

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})

after(() => {
  server.closeAllConnections()
  server.close()
})

function post(path: string, { allowsPrivate = true, host = '127.0.0.1', ...rest } = {}) {
  const request = { allowsPrivate, headers: {}, body: '{"a":1}' }
  return postWebhook({ ...request, url: `http://${host}:${port}${path}` }, NEVER, rest)
}

test('an address of the inside is refused, whatever names it', async () => {
  const loopback = async () => [{ address: '127.0.0.1', family: 4 }]
  const mixed = async () => [{ address: '93.184.216.34', family: 4 }, ...(await loopback())]
  const before = seen.length
  for (const [host, resolve] of [
    ['127.0.0.1', undefined],
    ['[::1]', undefined],
    ['2130706433', undefined],
    ['localhost', undefined],
    ['example.test', loopback],
    ['example.test', mixed],
  ] as const) {
    await assert.rejects(
      post('/inside', { allowsPrivate: false, host, ...(resolve && { resolve }) }),
      AddressRefusedError,
      host,
    )
  }
  assert.equal(seen.length, before)
})

test('the address that was judged is the one that is used', async () => {
  let asked = 0
  const resolve = async (host: string) => {
    asked++
    assert.equal(host, 'example.test')
    return [{ address: '127.0.0.1', family: 4 }]
  }
  assert.equal((await post('/named', { host: 'example.test', resolve } as never)).status, 200)
  assert.equal(asked, 1, 'no second look-up could give another one')
  const { host, body } = seen.at(-1)!
  assert.deepEqual([host, body], [`example.test:${port}`, '{"a":1}'])
})

test('no redirect is followed, and Retry-After is read', async () => {
  assert.deepEqual(await post('/moved'), { status: 302, retryAfterS: undefined, text: 'ok' })
  assert.ok(seen.every(({ path }) => path !== '/inside'))
  assert.deepEqual(await post('/busy'), { status: 429, retryAfterS: 7, text: 'ok' })
})

test('one that hangs costs its time, one that talks WEBHOOK_ANSWER_BYTES_MAX', async () => {
  await assert.rejects(post('/hang', { msMax: 100 } as never), /no answer in time/)
  assert.equal(WEBHOOK_MS_MAX, 10_000)
  await assert.rejects(
    post('/x', { host: 'slow.test', resolve: () => new Promise(() => {}), msMax: 50 } as never),
    /no answer in time/,
  )
  const { status, text = '' } = await post('/long')
  assert.deepEqual([status, text.length], [200, WEBHOOK_ANSWER_BYTES_MAX])
  assert.ok(written < WEBHOOK_ANSWER_BYTES_MAX * 32, `${written} bytes`)
  await assert.rejects(post('/x', { host: 'nowhere.invalid' }), (cause: Error) => {
    return cause.message === 'the name could not be resolved'
  })
})

test('addresses of the internet, and others', () => {
  for (const address of ['93.184.216.34', '1.1.1.1', '172.32.0.1', '2606:4700::1111']) {
    assert.ok(isPublicAddress(address), address)
  }
  for (const address of [
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.9.9.9', '169.254.169.254', '172.16.0.1'],
    ...['172.31.255.255', '192.168.0.1', '198.18.0.1', '224.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::ffff:10.0.0.1', '::ffff:93.184.216.34', '64:ff9b::a00:1', 'fc00::1'],
    ...['fd00::1', 'fe80::1', 'ff02::1', '2001:db8::1', '2002:a00:1::', '2001::1'],
  ]) {
    assert.equal(isPublicAddress(address), false, address)
  }
})
