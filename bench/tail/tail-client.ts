/** Readers of live tails, as cheap as they can be. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { ServiceAddress } from '../e2e/rest.ts'

export interface TailClientOptions {
  readonly token: string
  readonly query: string
  /** Hears the record's JSON. */
  readonly onEvent: (record: string) => void
  readonly onGap: () => void
}

/** Resolves when the tail is open. */
export async function readTail(
  { url }: ServiceAddress,
  streamId: string,
  { token, query, onEvent, onGap }: TailClientOptions,
): Promise<{ stop: () => void }> {
  const target = `${url}/v1/streams/${streamId}/tail?query=${encodeURIComponent(query)}`
  // Not `fetch`: its streams cost several times what the service spends on an event.
  const asked = request(target, { headers: { authorization: `Bearer ${token}` }, agent: false })
  asked.end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`a tail was answered ${response.statusCode}`)
  let text = ''
  response.setEncoding('utf8')
  response.on('data', (piece: string) => {
    const messages = (text + piece).split('\n\n')
    text = messages.pop() ?? ''
    for (const message of messages) {
      const data = message.indexOf('\ndata: ')
      if (message.startsWith('event: ')) onGap()
      else if (data >= 0) onEvent(message.slice(data + 7))
    }
  })
  for (const one of [asked, response]) one.on('error', () => undefined) // It is broken off.
  return { stop: () => asked.destroy() }
}

/** One that may read all streams of the first admin. */
export async function createReaderToken({ url, token }: ServiceAddress): Promise<string> {
  const response = await fetch(`${url}/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'reader', owner: 'admin', scopes: ['events:read'] }),
  })
  if (response.status !== 201) throw new Error(await response.text())
  return ((await response.json()) as { token: string }).token
}
