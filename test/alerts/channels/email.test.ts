/**
 * Goal: mail arrives once, whole and as one message; what a server says decides whether it is tried
 * again; nothing that an event holds becomes a header or markup, and no server is reached but the
 * one that was judged.
 * Method: a server of the test's own on a real socket, plain and with TLS, that answers by script.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AddressRefusedError } from '../../../src/alerts/allowed-address.ts'
import { type EmailOptions, emailSender } from '../../../src/alerts/channels/email.ts'
import { emailBody } from '../../../src/alerts/channels/email-body.ts'
import type { AlertMessage } from '../../../src/alerts/webhook-body.ts'
import { ALERT_RECIPIENTS_MAX } from '../../../src/limits.ts'
import type { ChannelOptions } from '../../../src/store/alerts/channel-store.ts'
import { alertOf, HOSTILE, messageWith, targetOf } from './messages.ts'
import { type Script, SmtpServer, tryMakeMailCertificate } from './smtp-server.ts'

const NEVER = new AbortController().signal
const FROM = 'sluice@example.com'
const TO = ['ann@example.com', 'bob@example.com']
const PASSWORD = 'a password of mine'
const certificate = tryMakeMailCertificate()
const skip = certificate === undefined && 'openssl makes no certificate'
const server = new SmtpServer()
const message = messageWith([alertOf({ service: 'web' })])

before(async () => {
  server.certificate = certificate
  await server.start()
})

after(() => server.close())

interface Sent extends EmailOptions {
  readonly host?: string
  readonly secret?: string
  readonly allowsPrivate?: boolean
  readonly of?: AlertMessage
  readonly to?: ChannelOptions
}

function send({ host = 'localhost', secret, allowsPrivate = true, of, to, ...rest }: Sent = {}) {
  const options = { tls: 'none', from: FROM, to: TO, ...to } as const
  const url = `smtp://${host}:${server.port}`
  const target = targetOf({ kind: 'email', url, secret, allowsPrivate, options })
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  return emailSender({ resolve, ...rest })(target, of ?? message, NEVER)
}

/** Headers by their names, and all of the mail decoded. */
function readMail(mail: string) {
  const end = mail.indexOf('\r\n\r\n')
  const head = mail.slice(0, end).replace(/\r\n[ \t]+/g, ' ')
  const headers = new Map(
    head.split('\r\n').map((line) => [line.split(':')[0]!.toLowerCase(), line]),
  )
  const decoded = mail
    .slice(end)
    .replace(/=\r\n/g, '')
    .replace(/((?:=[0-9A-F]{2})+)/g, (hex) => decodeURIComponent(hex.replaceAll('=', '%')))
  return { headers, decoded, names: [...headers.keys()] }
}

test('a message is a mail with a text and HTML, the same at each try', async () => {
  server.reset()
  const { outcome, status, said } = await send()
  assert.deepEqual([outcome, status, said], ['delivered', 250, '250 queued as 7'])
  const [{ mail, commands }] = server.received as [(typeof server.received)[0]]
  assert.deepEqual(
    commands.filter((line) => /^(?:MAIL|RCPT)/.test(line)),
    [`MAIL FROM:<${FROM}>`, ...TO.map((one) => `RCPT TO:<${one}>`)],
  )
  assert.ok(!commands.some((line) => /EHLO.*[a-z]/.test(line)), 'nothing of this machine')
  const { headers, decoded } = readMail(mail)
  assert.equal(headers.get('subject'), 'Subject: [FIRING] slow: service=web, team=web')
  assert.equal(headers.get('auto-submitted'), 'Auto-Submitted: auto-generated')
  assert.match(decoded, /53\.25 > 20 \(2026-05-05 05:04:00 to 05:05:00 UTC, 7 events\)/)
  assert.match(decoded, /it took 53 s/)
  assert.match(decoded, /<a href="https:\/\/sluice\.test\//)
  await send({ of: { ...message, sluice: { ...message.sluice, attempt: 2 } } })
  const ids = server.received.map((one) => readMail(one.mail).headers.get('message-id'))
  assert.match(ids[0]!, /^Message-ID: <sluice\.[0-9a-f]{32}@example\.com>$/)
  assert.equal(ids[0], ids[1], 'another try is the same mail')
  await send({ of: { ...message, sluice: { ...message.sluice, event_id: 'sluice-alert-9-2' } } })
  assert.notEqual(readMail(server.received[2]!.mail).headers.get('message-id'), ids[0])
})

test('what the server says decides', async () => {
  const rcpt = (index: number) => `RCPT TO:<${TO[index]}>`
  const cases: [Script, outcome: string, error: RegExp | undefined][] = [
    [{ greeting: '421 too busy' }, 'later', /421/],
    [{ greeting: '554 go away' }, 'refused', /554 go away/],
    [{ MAIL: '451 come back' }, 'later', /^it answered 451 come back$/],
    [{ MAIL: '550 no' }, 'refused', /^it answered 550 no$/],
    [{ [rcpt(0)]: '450 grey', [rcpt(1)]: '550 unknown' }, 'later', /450 grey/],
    [{ [rcpt(0)]: '550 unknown', [rcpt(1)]: '550 unknown' }, 'refused', /550 unknown/],
    [{ [rcpt(1)]: '450 grey' }, 'later', /^1 of 2 recipients are refused: 450 grey$/],
    [{ [rcpt(1)]: '550 unknown' }, 'delivered', /^1 of 2 recipients are refused: 550 unknown$/],
    [{ DATA: '452 full' }, 'later', /452 full/],
    [{ '.': '554 spam' }, 'refused', /554 spam/],
    [{ '.': '250 yes' }, 'delivered', undefined],
    [{ greeting: '+OK pop3' }, 'later', /EPROTOCOL|POP|answer/i],
  ]
  for (const [script, outcome, error] of cases) {
    server.reset(script)
    const answer = await send()
    assert.equal(answer.outcome, outcome, `${JSON.stringify(script)}: ${answer.error}`)
    if (error === undefined) assert.equal(answer.error, undefined)
    else assert.match(answer.error ?? '', error)
  }
  server.reset({ MAIL: '451 come back' })
  assert.equal((await send()).outcome, 'later')
  server.reset()
  assert.equal((await send()).outcome, 'delivered', 'and then it is taken')
})

test('a server that hangs or talks without end costs its time and a bound', async () => {
  for (const command of ['greeting', 'EHLO', 'DATA', '.']) {
    server.reset({ [command]: false })
    const answer = await send({ msMax: 30 })
    assert.deepEqual([answer.outcome, answer.error], ['later', 'no answer in time'], command)
  }
  server.reset({ EHLO: '250-x\r\n'.repeat(20_000) })
  const answer = await send()
  assert.deepEqual([answer.outcome, answer.error], ['later', 'EPROTOCOL'])
  const slow = send({ msMax: 50, resolve: () => new Promise(() => {}) })
  await assert.rejects(slow, /no answer in time/)
})

test('only the address that was judged is connected to', async () => {
  server.reset()
  const loopback = async () => [{ address: '127.0.0.1', family: 4 }]
  for (const host of ['localhost', '127.0.0.1', 'mail.test']) {
    await assert.rejects(
      send({ host, allowsPrivate: false, resolve: loopback }),
      AddressRefusedError,
    )
  }
  assert.equal(server.connections, 0)
  let asked = 0
  const once = async (host: string) => {
    asked++
    assert.equal(host, 'mail.test')
    return await loopback()
  }
  assert.equal((await send({ host: 'mail.test', resolve: once })).outcome, 'delivered')
  assert.deepEqual([asked, server.connections], [1, 1])
  const { port } = server
  server.port = 1
  const nobody = await send()
  server.port = port
  assert.deepEqual([nobody.outcome, nobody.error], ['later', 'ECONNREFUSED'])
})

test('with TLS, and a password only within it', { skip }, async () => {
  const to = { tls: 'starttls', username: 'ann' } as const
  const trusted = certificate!.cert
  server.reset()
  server.extensions = ['STARTTLS', 'AUTH PLAIN LOGIN']
  const sent = await send({ to, secret: PASSWORD, trusted })
  assert.equal(sent.outcome, 'delivered', sent.error)
  const [{ isSecure, commands }] = server.received as [(typeof server.received)[0]]
  const auth = Buffer.from(`\0ann\0${PASSWORD}`).toString('base64')
  assert.deepEqual([isSecure, commands.includes(`AUTH PLAIN ${auth}`)], [true, true])
  assert.ok(commands.indexOf('STARTTLS') < commands.indexOf(`AUTH PLAIN ${auth}`))

  server.reset()
  server.extensions = ['AUTH PLAIN']
  const plain = await send({ to, secret: PASSWORD, trusted })
  assert.equal(plain.outcome, 'refused', 'a server without TLS is told nothing')
  assert.match(plain.error ?? '', /502 no/)
  assert.ok(!server.commands.some((line) => /AUTH|MAIL/.test(line)))

  server.reset()
  server.extensions = ['STARTTLS', 'AUTH PLAIN']
  const stranger = await send({ to, secret: PASSWORD })
  assert.equal(stranger.outcome, 'later')
  assert.match(stranger.error ?? '', /SELF_SIGNED/)
  const other = await send({ to, secret: PASSWORD, trusted, host: 'other.test' })
  assert.match(other.error ?? '', /ALTNAME/, 'a certificate of somebody else')

  server.reset({ AUTH: `535 wrong: ann ${PASSWORD} ${auth}` })
  server.extensions = ['STARTTLS', 'AUTH PLAIN']
  const wrong = await send({ to, secret: PASSWORD, trusted })
  assert.equal(wrong.outcome, 'refused')
  assert.match(wrong.error ?? '', /^it answered 535 wrong/)
  assert.doesNotMatch(JSON.stringify(wrong), new RegExp(`${PASSWORD}|${auth}`))

  server.reset()
  server.isImplicit = true
  const implicit = await send({ to: { tls: 'implicit' }, trusted })
  assert.deepEqual([implicit.outcome, server.received[0]?.isSecure], ['delivered', true])
})

test('nothing of an event becomes a header, an address or markup', async () => {
  server.reset()
  await send()
  const plain = readMail(server.received[0]!.mail).names
  for (const hostile of HOSTILE) {
    server.reset()
    const alerts = [
      alertOf(
        { service: hostile },
        {
          annotations: { summary: hostile },
          detail: hostile,
          generatorURL: `javascript:${hostile}`,
          samples: [{ id: '1', event: { message: hostile } }],
        },
      ),
    ]
    const of = messageWith(alerts, { receiver: hostile })
    const { outcome, error } = await send({ of })
    assert.equal(outcome, 'delivered', error)
    const { names } = readMail(server.received[0]!.mail)
    assert.deepEqual(names, plain, 'the headers of any mail')
    const { html, subject, text } = emailBody(of)
    assert.doesNotMatch(html, /<script|<b>|javascript:|<https/)
    assert.ok(subject.length <= 200 && !/[\r\n]/.test(subject))
    assert.ok(html.length < 64_000 && text.length < 16_000, `${html.length} ${text.length}`)
  }
})

test('many alerts are a table of 50, and the others are counted', () => {
  const alerts = Array.from({ length: 50 }, (_, n) => alertOf({ service: `s${n}` }))
  const { subject, html, text } = emailBody(messageWith(alerts, { truncatedAlerts: 9_950 }))
  assert.equal(subject, '[FIRING: 10000] slow')
  assert.equal(html.split('<tr>').length - 1, 50)
  assert.match(html, /and 9950 more/)
  assert.match(text, /service=s9: .*\nand 9990 more\n/)
  assert.equal(ALERT_RECIPIENTS_MAX, 20)
})
