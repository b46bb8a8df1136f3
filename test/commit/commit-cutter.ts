/** Passes everything on, and destroys the connection when COMMIT is answered, if told to. */
import { connect, createServer, type Server, type Socket } from 'node:net'

export class CommitCutter {
  readonly url: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  isCutting = false
  cuts = 0

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
  }

  static async start(target: string): Promise<CommitCutter> {
    const { hostname, port } = new URL(target)
    const server = createServer((client) => {
      const upstream = connect(Number(port), hostname)
      for (const socket of [client, upstream]) {
        cutter.#sockets.add(socket)
        socket.on('error', () => socket.destroy())
        socket.on('close', () => {
          client.destroy()
          upstream.destroy()
        })
      }
      client.on('data', (bytes) => upstream.write(bytes))
      upstream.on('data', (bytes) => {
        if (cutter.isCutting && bytes.includes('COMMIT\0')) {
          cutter.cuts++
          client.destroy()
        } else client.write(bytes)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    const url = new URL(target)
    url.port = String((server.address() as { port: number }).port)
    const cutter = new CommitCutter(server, url.href)
    return cutter
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
