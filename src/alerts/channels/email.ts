/**
 * Mail by SMTP. The connection is made here, to the address that was judged, and given to
 * nodemailer: it resolves no name, reads no file and fetches no URL. A try has the time of a
 * webhook's, whatever the server does, and a reply of it the same bound.
 */
import { connect, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { createTransport } from 'nodemailer'
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_MS_MAX } from '../../limits.ts'
import type { ChannelTarget } from '../../store/alerts/channel-store.ts'
import { AddressRefusedError, allowedAddress, type Resolve } from '../allowed-address.ts'
import type { AlertMessage } from '../webhook-body.ts'
import { emailBody, messageIdOf, threadIdOf } from './email-body.ts'
import { saidText } from './plain-text.ts'
import { type SendAnswer, type SendMessage, secretsOf } from './send-answer.ts'

/** For tests. */
export interface EmailOptions {
  readonly resolve?: Resolve
  readonly msMax?: number
  readonly trusted?: ConnectionOptions['ca']
}

/** Of nodemailer. */
interface SmtpError extends Error {
  readonly code?: string
  readonly originalCode?: string
  readonly responseCode?: number
  readonly response?: string
  readonly rejectedErrors?: readonly SmtpError[]
}

export function emailSender(options: EmailOptions = {}): SendMessage {
  return async (target, message, signal) => {
    const { resolve, msMax = WEBHOOK_MS_MAX } = options
    const ended = AbortSignal.any([signal, AbortSignal.timeout(msMax)])
    const { hostname, port } = new URL(target.url)
    const host = hostname.replace(/^\[|\]$/g, '')
    const { address } = await allowedAddress(host, target.allowsPrivate, ended, resolve)
    const socket = connect({ host: address, port: Number(port) })
    socket.on('error', () => undefined)
    try {
      await connected(socket, ended)
      return await send(socket, { host, port: Number(port) }, { target, message, ended, options })
    } catch (cause) {
      if (cause instanceof AddressRefusedError) throw cause
      return judgeFailure(cause as SmtpError, target, ended)
    } finally {
      socket.destroy()
    }
  }
}

function connected(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => socket.destroy(new Error('no answer in time'))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    socket.once('connect', resolve)
    socket.once('error', reject)
    socket.once('close', () => {
      signal.removeEventListener('abort', onAbort)
      reject(new Error('no answer in time'))
    })
  })
}

interface Sending {
  readonly target: ChannelTarget
  readonly message: AlertMessage
  readonly ended: AbortSignal
  readonly options: EmailOptions
}

async function send(
  socket: Socket,
  server: { readonly host: string; readonly port: number },
  { target, message, ended, options: { msMax = WEBHOOK_MS_MAX, trusted } }: Sending,
): Promise<SendAnswer> {
  const { secret, options } = target
  const { username, tls = 'starttls', from = '', to = [] } = options
  const transport = createTransport({
    ...server,
    getSocket: (_, done) => done(null, { connection: socket }),
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(username !== undefined && { auth: { user: username, pass: secret ?? '' } }),
    // Nothing of this machine.
    name: '[127.0.0.1]',
    maxResponseSize: WEBHOOK_ANSWER_BYTES_MAX,
    ...{ connectionTimeout: msMax, greetingTimeout: msMax, socketTimeout: msMax },
    tls: { minVersion: 'TLSv1.2', ...(trusted !== undefined && { ca: trusted }) },
    ...{ disableFileAccess: true, disableUrlAccess: true, logger: false },
  })
  const thread = threadIdOf(message, from)
  const sent = await transport.sendMail({
    // Addresses were judged when the channel was made; these are not parsed again.
    envelope: { from, to: [...to] },
    from: { name: 'Sluice', address: from },
    to: to.map((address) => ({ name: '', address })),
    ...emailBody(message),
    messageId: messageIdOf(message, from),
    ...{ inReplyTo: thread, references: thread },
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    signal: ended,
  })
  return judgeSent(sent, target)
}

/** Some recipients may have been refused. */
function judgeSent(
  sent: {
    readonly response?: string
    readonly rejected?: readonly unknown[]
    readonly rejectedErrors?: readonly SmtpError[] | undefined
  },
  target: ChannelTarget,
): SendAnswer {
  const { response = '', rejected = [], rejectedErrors = [] } = sent
  const said = saidText(response, secretsOf(target))
  const status = codeOf(response)
  const [first] = rejectedErrors
  if (rejected.length === 0 || first === undefined) return { outcome: 'delivered', status, said }
  const count = `${rejected.length} of ${target.options.to?.length ?? 0} recipients are refused`
  const error = `${count}: ${saidText(first.response ?? '', secretsOf(target))}`
  const isForNow = rejectedErrors.some((one) => isTemporary(one.responseCode))
  return { outcome: isForNow ? 'later' : 'delivered', status, said, error }
}

function judgeFailure(cause: SmtpError, target: ChannelTarget, ended: AbortSignal): SendAnswer {
  if (ended.aborted) return { outcome: 'later', error: 'no answer in time' }
  const { code, originalCode, response = '', rejectedErrors = [], message } = cause
  const errors = rejectedErrors.length > 0 ? rejectedErrors : [cause]
  const codes = errors.map(({ responseCode }) => responseCode)
  const said = saidText(response || (rejectedErrors[0]?.response ?? ''), secretsOf(target))
  const status = codes.find((one) => one !== undefined)
  if (status !== undefined) {
    const outcome = codes.some(isTemporary) ? 'later' : 'refused'
    return { outcome, status, said, error: `it answered ${said || status}` }
  }
  // Without a reply it is the connection, or what we would send is nothing that may be sent.
  const isOurs = ['EENVELOPE', 'EMESSAGE', 'EAUTH', 'ECONFIG'].includes(code ?? '')
  const error = code === 'ETLS' || isOurs ? message : (originalCode ?? code ?? message)
  return { outcome: isOurs ? 'refused' : 'later', error: saidText(error, secretsOf(target)) }
}

function isTemporary(code: number | undefined): boolean {
  return code === undefined || code < 500
}

function codeOf(response: string): number | undefined {
  const [code] = /^\d{3}/.exec(response) ?? []
  return code === undefined ? undefined : Number(code)
}
