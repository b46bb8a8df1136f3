/** The unix sockets of embedded stores, for tests that speak to them below our own clients. */
import { readFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/** Path of the socket that an embedded store's URL names. */
export function socketPath(storeUrl: string): string {
  const { protocol, hostname, port } = new URL(storeUrl)
  const path = decodeURIComponent(hostname)
  return protocol === 'postgres:' ? join(path, `.s.PGSQL.${port}`) : path
}

/** Of a running service, as `docs/operations.md` says. */
export function embeddedPostgresUrl(dataDir: string): string {
  const password = readFileSync(join(dataDir, 'postgres-password'), 'utf8').trim()
  return `postgres://sluice:${password}@${encodeURIComponent(join(dataDir, 'postgres'))}/sluice`
}

/** A port in front of an embedded store: what an external one looks like. */
export interface TcpFront {
  readonly url: string
  close(): Promise<void>
}

export async function openTcpFront(storeUrl: string): Promise<TcpFront> {
  const sockets = new Set<Socket>()
  const target = new URL(storeUrl)
  const isPort = target.protocol === 'http:'
  const server = createServer((client) => {
    const upstream = isPort ? connect(Number(target.port)) : connect(socketPath(storeUrl))
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { protocol, username, password, pathname } = target
  const scheme = protocol === 'postgres:' ? 'postgres:' : 'http:'
  const { port } = server.address() as { port: number }
  return {
    url: `${scheme}//${username}:${password}@127.0.0.1:${port}${pathname}`,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
