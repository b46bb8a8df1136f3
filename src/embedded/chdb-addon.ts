/** The native part of `chdb`, as much of it as we use. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

declare const connectionBrand: unique symbol
export type Connection = { readonly [connectionBrand]: true }

/** The engine of a process has one directory; a connection is used by the thread that made it. */
export interface Addon {
  CreateConnection(path: string, args?: readonly string[]): Connection
  CloseConnection(connection: Connection): void
  /** On a thread of libuv's pool. */
  QueryAsyncConnection(
    connection: Connection,
    sql: string,
    format: string,
  ): Promise<{ readonly bytes: Uint8Array }>
  /** On the calling thread; the result is read as UTF-8. */
  QueryWithConnection(connection: Connection, sql: string, format: string): string
}

/** Finds the platform's addon the way chdb does; its own entry file would install exit hooks. */
export function loadAddon(): Addon {
  const require = createRequire(import.meta.url)
  const loader = join(dirname(require.resolve('chdb')), 'dist', 'loader.js')
  return require(loader).loadNative()
}
