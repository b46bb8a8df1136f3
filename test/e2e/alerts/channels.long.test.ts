/**
 * Goal: on a whole service a rule that fires is told to chat, mail, Alertmanager and a pager, each
 * in its form; a heartbeat is called while rules are decided; who reads Prometheus' rules and
 * metrics sees the same.
 * Method: receivers on loopback, which an admin allows; a rule with windows of 10 s.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { SmtpServer } from '../../alerts/channels/smtp-server.ts'
import { eventually } from '../../store/temporary.ts'
import { Api, call } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const WAIT_MS = 120_000
const dataDir = makeDataDir()
const mail = new SmtpServer()
// biome-ignore lint/suspicious/noExplicitAny: tests look into any body.
const posted = new Map<string, any[]>()
const receiver = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const path = request.url ?? ''
  posted.set(path, [...(posted.get(path) ?? []), body === '' ? undefined : JSON.parse(body)])
  response.writeHead(path === '/gone' ? 404 : 200).end('ok')
})
let service: Service
let api: Api

const put = (path: string, body: object) => api.rest(`/v1/alerts/${path}`, 'PUT', body)

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  await mail.start()
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const inside = { allow_private: true }
  await put('channels/chat', { kind: 'slack', url: `${base}/chat`, ...inside })
  await put('channels/am', { kind: 'alertmanager', url: base, ...inside })
  await put('channels/pager', { kind: 'pagerduty', routing_key: 'k', url: `${base}/p`, ...inside })
  await put('channels/gone', { kind: 'discord', url: `${base}/gone`, ...inside })
  await put('channels/alive', { kind: 'heartbeat', url: `${base}/alive`, ...inside })
  await put('channels/mail', {
    ...{ kind: 'email', host: '127.0.0.1', port: mail.port, tls: 'none', ...inside },
    ...{ from: 'sluice@example.com', to: ['ops@example.com'] },
  })
})

after(async () => {
  receiver.closeAllConnections()
  receiver.close()
  mail.close()
  await service?.stop()
  await removeDataDir(dataDir)
})

const metric = async (name: string) => {
  const { text } = await call(`${service.url}/metrics`)
  const [, value] = new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(text) ?? []
  return Number(value)
}

test('what fires is told everywhere, and shown', async () => {
  const stream = await api.createStream()
  await put('rules/errors', {
    ...{ streams: [stream.id], query: 'level:error', group_by: ['service'], window: '10s' },
    ...{ condition: { op: '>', value: 0 }, channels: ['chat', 'am', 'pager', 'mail', 'gone'] },
    keep_firing: 20,
  })
  await api.ingest(stream.key, JSON.stringify({ level: 'error', service: '<!here>' }))
  const has = (path: string) => async () => posted.has(path)
  for (const path of ['/chat', '/api/v2/alerts', '/p', '/gone']) {
    await eventually(`${path} is told`, has(path), WAIT_MS)
  }
  await eventually('mail has come', async () => mail.received.length > 0, WAIT_MS)
  const [chat] = posted.get('/chat') ?? []
  assert.match(chat.attachments[0].title, /^\[FIRING\] errors: service=&lt;!here&gt;$/)
  const [alerts] = posted.get('/api/v2/alerts') ?? []
  assert.equal(alerts[0].labels.service, '<!here>')
  assert.ok(Date.parse(alerts[0].endsAt) > Date.now() + 60_000)
  assert.equal(posted.get('/p')?.[0].event_action, 'trigger')
  assert.match(mail.received[0]!.mail, /Subject: \[FIRING\] errors: service=<!here>/)
  const dead = JSON.parse(await api.rest('/v1/alerts/messages')).messages
  assert.equal(dead[0].channel, 'gone')
  assert.match(dead[0].last_error, /^it answered 404/)

  const { data } = JSON.parse(await api.rest('/api/v1/rules'))
  assert.equal(data.groups[0].rules[0].name, 'errors')
  await eventually(
    'the metrics have counted it',
    async () => (await metric('ingest_alert_messages{state="dead"}')) > 0,
    WAIT_MS,
  )
  assert.equal(await metric('ingest_alert_rules{state="evaluating"}'), 1)
  const tested = JSON.parse(await api.rest('/v1/alerts/channels/chat/test', 'POST'))
  assert.deepEqual([tested.outcome, tested.status, tested.answer], ['delivered', 200, 'ok'])
  assert.match(posted.get('/chat')?.at(-1).attachments[0].title, /^\[TEST\]/)
  await eventually('a heartbeat was sent', has('/alive'), WAIT_MS)
  assert.ok((await metric('ingest_alert_heartbeats_total{outcome="sent"}')) > 0)
  const ends = () => (posted.get('/api/v2/alerts') ?? []).map(([alert]) => Date.parse(alert.endsAt))
  await eventually('Alertmanager is told again', async () => ends().length > 1, WAIT_MS)
  const [first = 0, second = 0] = ends()
  assert.ok(second - first >= 50_000, `${second - first} ms`)
})
