/**
 * The console's files as they are sent: read once, at start. There are some dozen, of at most a few
 * hundred kilobytes together.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

export interface ConsoleFile {
  readonly contentType: string
  readonly bytes: Uint8Array
  /** The same, compressed with brotli; undefined where that would not be smaller. */
  readonly brotli: Uint8Array | undefined
}

/** By name; `index.html` is the page, the others have a hash of their content in their names. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The files of `folder`; none when it was not built. Throws when one cannot be read. */
export function readConsoleFiles(folder: string): ConsoleFiles {
  const names = tryList(folder)
  const files = new Map<string, ConsoleFile>()
  for (const name of names) {
    const contentType = CONTENT_TYPES[extname(name)]
    if (contentType === undefined) continue
    const compressed = `${name}.br`
    files.set(name, {
      contentType,
      bytes: readFileSync(join(folder, name)),
      brotli: names.includes(compressed) ? readFileSync(join(folder, compressed)) : undefined,
    })
  }
  return files
}

function tryList(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw cause
  }
}
