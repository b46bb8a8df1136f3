/** A receiver of webhooks: what was posted, by its key. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AlertMessage } from '../../src/alerts/webhook-body.ts'

export interface ReceivedMessage {
  /** Of each try. */
  readonly bodies: string[]
  readonly signed: string[]
}

export class WebhookReceiver {
  readonly posted = new Map<string, ReceivedMessage>()
  readonly #server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const key = String(request.headers['idempotency-key'])
    const known = this.posted.get(key) ?? { bodies: [], signed: [] }
    this.posted.set(key, known)
    known.bodies.push(body)
    known.signed.push(String(request.headers['sluice-signature']))
    response.writeHead(known.bodies.length === 1 ? 500 : 200).end()
  })

  /** The first try of each message is answered with 500. Returns its URL. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}/`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** Each once, as it was tried first, of a rule. */
  messages(rule: string): AlertMessage[] {
    return [...this.posted.values()]
      .map(({ bodies }) => JSON.parse(bodies[0]!) as AlertMessage)
      .filter(({ groupLabels }) => groupLabels.alertname === rule)
  }

  /** All tries of a message say the same, but for their number. */
  assertSame(): void {
    const withoutTry = (body: string) => body.replace(/,"attempt":\d+\}\}$/, '')
    for (const { bodies } of this.posted.values()) {
      assert.equal(new Set(bodies.map(withoutTry)).size, 1)
    }
  }
}
