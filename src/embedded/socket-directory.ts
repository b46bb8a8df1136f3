/**
 * Where clients find the unix socket of an embedded store. It lies in the store's own directory,
 * which only we and the store's user can open. So, unlike with a port, no other user of the machine
 * can listen there while the store is away, get our passwords, or answer instead of the store.
 *
 * A socket's address holds 107 bytes (103 on macOS), and a data directory's path may be longer. The
 * stores bind by a name relative to their working directory. Where the path is too long, we connect
 * through our own open descriptor of the directory.
 */
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../store/store-error.ts'

const SOCKET_PATH_BYTES_MAX = 103

export interface SocketDirectory {
  /** Good in this process, until `close`; in others too unless the path is long. */
  readonly path: string
  close(): void
}

export function openSocketDirectory(directory: string, socketName: string): SocketDirectory {
  if (Buffer.byteLength(join(directory, socketName)) <= SOCKET_PATH_BYTES_MAX) {
    return { path: directory, close: () => undefined }
  }
  if (process.platform !== 'linux') {
    const text = `${directory} is too long a path for a socket: use a shorter --data`
    throw new StoreError('other', text)
  }
  const descriptor = openSync(directory, 'r')
  return { path: `/proc/self/fd/${descriptor}`, close: () => closeSync(descriptor) }
}
