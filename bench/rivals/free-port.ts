import { createServer } from 'node:net'

/** A port of 127.0.0.1 that is free now. Somebody else may take it before its user does. */
export async function findFreePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port)
        else reject(new Error('no port was assigned'))
      })
    })
  })
}
