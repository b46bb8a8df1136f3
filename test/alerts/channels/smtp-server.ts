/** A mail server on a real socket that answers by script and keeps what it was told. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'

export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
}

/** For `localhost`; undefined where openssl cannot make one. */
export function tryMakeMailCertificate(): Certificate | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-smtp-'))
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const out = ['-days', '2', '-keyout', keyFile, '-out', certFile]
  try {
    const args = ['req', '-x509', ...curve, ...subject, ...out]
    execFileSync('openssl', args, { stdio: 'ignore' })
    return { cert: readFileSync(certFile), key: readFileSync(keyFile) }
  } catch (error) {
    console.log(`mail over TLS is not tested: openssl makes no certificate (${String(error)})`)
    return undefined
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Replies in place of those of a server that takes all; `false`: none, it hangs. */
export interface Script {
  readonly [command: string]: string | false | undefined
}

export interface Received {
  readonly commands: readonly string[]
  readonly isSecure: boolean
  /** As it was sent, lines with CR LF. */
  readonly mail: string
}

export class SmtpServer {
  /** Of the next connections. */
  script: Script = {}
  extensions: readonly string[] = []
  certificate: Certificate | undefined
  /** TLS from the first byte. */
  isImplicit = false
  readonly received: Received[] = []
  commands: string[] = []
  connections = 0
  port = 0
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((socket) => {
    this.connections++
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    this.commands = []
    if (this.isImplicit) this.#serve(this.#secured(socket), true)
    else this.#serve(socket, false)
  })

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.port = (this.#server.address() as AddressInfo).port
  }

  reset(script: Script = {}): void {
    this.script = script
    this.extensions = []
    this.isImplicit = false
    this.received.length = 0
    this.commands = []
    this.connections = 0
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #secured(socket: Socket): TLSSocket {
    const secured = new TLSSocket(socket, { isServer: true, ...this.certificate })
    secured.on('error', () => undefined)
    return secured
  }

  #serve(socket: Socket, isSecure: boolean, isGreeted = false): void {
    let [rest, isData] = ['', false]
    const say = (key: string, reply: string) => {
      const told = this.script[key] ?? reply
      if (told !== false) socket.write(`${told}\r\n`)
      return told !== false && /^[23]/.test(told)
    }
    if (!isGreeted) say('greeting', '220 mail.test ready')
    const onLine = (line: string) => {
      this.commands.push(line)
      const verb = line.split(/[ :]/)[0]!.toUpperCase()
      if (verb === 'EHLO') {
        const lines = ['mail.test', ...this.extensions]
        const last = lines.length - 1
        const text = lines.map((one, at) => `250${at === last ? ' ' : '-'}${one}`).join('\r\n')
        say('EHLO', text)
      } else if (verb === 'STARTTLS') {
        if (!say('STARTTLS', this.extensions.includes('STARTTLS') ? '220 go' : '502 no')) return
        socket.removeAllListeners('data')
        this.#serve(this.#secured(socket), true, true)
      } else if (verb === 'AUTH') say('AUTH', '235 ok')
      else if (verb === 'RCPT') say(line, '250 ok')
      else if (verb === 'DATA') isData = say('DATA', '354 go on')
      else if (verb === 'QUIT') socket.end('221 bye\r\n')
      else say(verb, '250 ok')
    }
    socket.on('data', (chunk: Buffer) => {
      rest += chunk.toString('latin1')
      for (;;) {
        const end = rest.indexOf(isData ? '\r\n.\r\n' : '\r\n')
        if (end < 0) return
        const text = rest.slice(0, end)
        rest = rest.slice(end + (isData ? 5 : 2))
        if (isData) {
          isData = false
          this.received.push({ commands: [...this.commands], isSecure, mail: text })
          say('.', '250 queued as 7')
        } else onLine(text)
      }
    })
  }
}
