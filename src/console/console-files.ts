/**
 * The console's files as they are sent: read once, at start. There are some dozen, of at most a few
 * hundred kilobytes together.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

export interface ConsoleFile {
  readonly contentType: string
  readonly bytes: Uint8Array
  /** The same, compressed with brotli; undefined where that would not be smaller. */
  readonly brotli: Uint8Array | undefined
  /** Its name changes with its content, so what was once read under it stays right. */
  readonly isHashed: boolean
  /** Of the content, without quotes. */
  readonly tag: string
}

/** By name; `index.html` is the page, the others have a hash of their content in their names. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Names as `scripts/build-console.mjs` makes them: a hash of esbuild's, or of our own. */
const HASHED_NAME = /-(?:[A-Z2-7]{8}|[0-9a-f]{8})\.(?:js|css|svg)$/
const TAG_CHARS = 22

/** The files of `folder`; none when it was not built. Throws when one cannot be read. */
export function readConsoleFiles(folder: string): ConsoleFiles {
  const names = tryList(folder)
  const files = new Map<string, ConsoleFile>()
  for (const name of names) {
    const contentType = CONTENT_TYPES[extname(name)]
    if (contentType === undefined) continue
    const compressed = `${name}.br`
    const bytes = readFileSync(join(folder, name))
    files.set(name, {
      contentType,
      bytes,
      brotli: names.includes(compressed) ? readFileSync(join(folder, compressed)) : undefined,
      isHashed: HASHED_NAME.test(name),
      tag: createHash('sha256').update(bytes).digest('base64url').slice(0, TAG_CHARS),
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
