/** A ClickHouse that fails on purpose: HTTP in front of an embedded one, as an external server. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { LANE_HEADER } from '../../src/store/store-lane.ts'
import { socketPath } from './store-socket.ts'

/**
 * `error`: answers with one, as for a broken part; `cut`: the connection breaks; `late`: its own
 * error for a query that took too long; `busy`: too many queries; `hang`: no answer, ever.
 */
export type Fault = 'error' | 'cut' | 'late' | 'busy' | 'hang'

export const FAULT_NAME = 'CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN'
/** In the message of a fault: no client and no log of ours may show it as a client's error. */
export const FAULT_SECRET = 'value-of-an-event'

const ERRORS = {
  error: [349, FAULT_NAME],
  late: [159, 'TIMEOUT_EXCEEDED'],
  busy: [202, 'TOO_MANY_SIMULTANEOUS_QUERIES'],
} as const

export interface FaultyClickHouse {
  readonly url: string
  /** Asked for each statement; undefined lets it through. */
  fault: (statement: { readonly lane: string; readonly text: string }) => Fault | undefined
  close(): Promise<void>
}

export async function openFaultyClickHouse(storeUrl: string): Promise<FaultyClickHouse> {
  const sockets = new Set<Socket>()
  const server = createServer((incoming, response) => {
    void readAll(incoming).then((body) => {
      const lane = String(incoming.headers[LANE_HEADER] ?? '')
      const text = decodeURIComponent((incoming.url ?? '').replaceAll('+', ' ')) + body.toString()
      const fault = front.fault({ lane, text })
      if (fault === undefined) return forward(socketPath(storeUrl), incoming, body, response)
      if (fault === 'hang') return
      if (fault === 'cut') return incoming.socket.destroy()
      const [code, name] = ERRORS[fault]
      response.writeHead(500, { 'X-ClickHouse-Exception-Code': code })
      response.end(`Code: ${code}. DB::Exception: ${FAULT_SECRET}. (${name}) (version 26.7.2.1)`)
    })
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { username, password, pathname } = new URL(storeUrl)
  const { port } = server.address() as { port: number }
  const front: FaultyClickHouse = {
    url: `http://${username}:${password}@127.0.0.1:${port}${pathname}`,
    fault: () => undefined,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return front
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function forward(
  path: string,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): void {
  const { 'transfer-encoding': _, ...others } = headers
  const upstream = request(
    { socketPath: path, method, path: url, headers: { ...others, 'content-length': body.length } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    },
  )
  upstream.on('error', () => response.destroy())
  response.on('close', () => upstream.destroy())
  upstream.end(body)
}
