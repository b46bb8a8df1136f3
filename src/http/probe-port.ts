/** Whether a port can be listened on, and if not, why: engines only say that it failed. */
import { createServer } from 'node:net'

const HTTP_OPTIONS = '--host and --port (SLUICE_HOST, SLUICE_PORT)'

/** Resolves with the address's port, or rejects with node's error; nothing listens afterwards. */
function probe(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address()
      const found = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(found))
    })
  })
}

/** 0 when there is none, or `host` cannot be listened on. */
export function findFreePort(host: string): Promise<number> {
  return probe(host, 0).catch(() => 0)
}

/** Before anything is started that takes time. Throws what listening would; `options` set them. */
export async function assertCanListen(
  host: string,
  port: number,
  options = HTTP_OPTIONS,
): Promise<void> {
  try {
    await probe(host, port)
  } catch (cause) {
    throw cannotListen(failureOf(host, port, cause), options)
  }
}

/** Of an address that the engine could not bind; tried once more to hear why. */
export async function whyNotBound(host: string, port: number): Promise<string> {
  try {
    await probe(host, port)
    return `cannot listen on ${host}:${port}: the port is in use or was until a moment ago`
  } catch (cause) {
    return failureOf(host, port, cause)
  }
}

export function cannotListen(failure: string, options = HTTP_OPTIONS): Error {
  return new Error(`${failure}; choose others with ${options}`)
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses this port',
  EACCES: 'not permitted to use this port',
  EADDRNOTAVAIL: 'this machine has no such address',
}

/** What node says of an address that cannot be listened on, for people. */
export function failureOf(host: string, port: number, cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  return `cannot listen on ${host}:${port}: ${REASONS[code ?? ''] ?? code ?? message}`
}
