/** Passes everything on, and destroys the connection when COMMIT is answered, if told to. */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { socketPath } from '../support/store-socket.ts'

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
    const path = socketPath(target)
    const server = createServer((client) => {
      const upstream = connect(path)
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
    const { username, password, pathname } = new URL(target)
    const { port } = server.address() as { port: number }
    const url = `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`
    const cutter = new CommitCutter(server, url)
    return cutter
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
