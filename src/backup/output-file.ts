/** Where an archive is written: a file that has its name only when it is whole, or stdout. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError } from '../config.ts'
import type { WriteBytes } from './tar.ts'

export interface Output {
  readonly write: WriteBytes
  /** Makes it durable, under its name. */
  finish(): Promise<void>
  /** Leaves nothing behind. Never rejects. */
  abandon(): Promise<void>
}

/** Undefined: stdout. Throws `ConfigError` where something is in the way. */
export async function openOutput(file: string | undefined): Promise<Output> {
  if (file === undefined) return standardOutput()
  if (existsSync(file)) throw new ConfigError(`${file} exists: name a new file`)
  const partial = `${file}.partial`
  // Others must not read what the events say.
  const handle = await open(partial, 'wx', 0o600).catch((cause: NodeJS.ErrnoException) => {
    const why =
      cause.code === 'EEXIST'
        ? 'another backup writes it, or one was broken off; if none runs, remove it'
        : String(cause.code ?? cause.message)
    throw new ConfigError(`cannot write ${partial}: ${why}`)
  })
  return {
    write: async (bytes) => {
      for (let at = 0; at < bytes.length; ) {
        at += (await handle.write(bytes, at, bytes.length - at)).bytesWritten
      }
    },
    finish: async () => {
      await handle.sync()
      await handle.close()
      await rename(partial, file)
      const directory = await open(dirname(file), 'r')
      await directory.sync().finally(() => directory.close())
    },
    abandon: async () => {
      await handle.close().catch(() => undefined)
      await rm(partial, { force: true }).catch(() => undefined)
    },
  }
}

function standardOutput(): Output {
  const { stdout } = process
  return {
    write: async (bytes) => {
      if (!stdout.write(bytes)) await once(stdout, 'drain')
    },
    finish: () => new Promise((resolve) => stdout.end(resolve)),
    abandon: () => Promise.resolve(),
  }
}
