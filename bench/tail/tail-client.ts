/** Readers of live tails, as cheap as they can be. */
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
  const abort = new AbortController()
  const response = await fetch(
    `${url}/v1/streams/${streamId}/tail?query=${encodeURIComponent(query)}`,
    { headers: { authorization: `Bearer ${token}` }, signal: abort.signal },
  )
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  const read = async () => {
    let text = ''
    const decoder = new TextDecoder()
    for await (const piece of response.body ?? []) {
      const messages = (text + decoder.decode(piece, { stream: true })).split('\n\n')
      text = messages.pop() ?? ''
      for (const message of messages) {
        if (message.startsWith('event: ')) onGap()
        else if (message.includes('\ndata: '))
          onEvent(message.slice(message.indexOf('\ndata: ') + 7))
      }
    }
  }
  read().catch(() => undefined) // It is broken off.
  return { stop: () => abort.abort() }
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
