/** Requests as literal bytes on a socket, and their answers: nothing that a client library adds. */
import { RawClient } from '../../http/raw-client.ts'

export interface WireAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
  readonly bytes: Buffer
}

const ANSWER_MS_MAX = 30_000

/**
 * Sends `head`, a request line and headers, and `body` with its Content-Length; reads one answer.
 * A head that says how its body is framed is left as it is.
 */
export async function sendWire(
  port: number,
  head: readonly string[],
  body: string | Uint8Array = '',
): Promise<WireAnswer> {
  const bytes = Buffer.from(body)
  const isFramed = head.some((line) => /^(content-length|transfer-encoding):/i.test(line))
  const needsLength = !isFramed && !/^(GET|HEAD) /.test(head[0]!)
  const lines = needsLength ? [...head, `Content-Length: ${bytes.length}`] : head
  const client = await RawClient.connect(port)
  client.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]))
  try {
    return await readAnswer(client, head[0]!.startsWith('HEAD '))
  } finally {
    client.destroy()
  }
}

async function readAnswer(client: RawClient, isHead: boolean): Promise<WireAnswer> {
  const interim = /^HTTP\/1\.1 1\d\d .*?\r\n\r\n/s
  await client.until(/^(HTTP\/1\.1 1\d\d .*?\r\n\r\n)?HTTP\/1\.1 [2-5].*?\r\n\r\n/s, ANSWER_MS_MAX)
  const final = client.received.replace(interim, '')
  const bodyAt = final.indexOf('\r\n\r\n') + 4
  const [statusLine, ...lines] = final.slice(0, bodyAt - 4).split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  const length = isHead ? 0 : Number(headers.get('content-length') ?? Number.NaN)
  const skipped = client.received.length - final.length
  const end = skipped + bodyAt + length
  const deadline = performance.now() + ANSWER_MS_MAX
  while (client.received.length < end) {
    if (performance.now() > deadline || client.closed) throw new Error('the answer was cut off')
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const bytes = Buffer.from(client.received.slice(skipped + bodyAt, end), 'latin1')
  return { status: Number(statusLine!.slice(9, 12)), headers, text: bytes.toString(), bytes }
}
