/**
 * Runs an export into a file: the search of Explore, streamed. It reads no faster than the file is
 * written, and holds no more than a piece and the last record. However it ends, a file that is kept
 * has whole records, and a last line that says so where some are missing.
 */
import { ApiError, call, failureText } from '../base/api.ts'
import { type Ask, readMembers, readPath } from '../explore/ask.ts'
import { BLOB_FULL, type ExportFile } from './export-file.ts'
import { type ExportKind, ExportRecords, endingLine } from './export-records.ts'

export interface ExportWish {
  readonly ask: Ask
  readonly kind: ExportKind
  /** As the API names them; undefined: whole events. CSV has some. */
  readonly fields: readonly string[] | undefined
  /** For a spreadsheet: nothing in it is run, and its letters are read as UTF-8. */
  readonly isSafe: boolean
}

export interface Progress {
  readonly events: number
  readonly bytes: number
}

/** `reason`: why events are missing; undefined when none is. */
export interface ExportResult extends Progress {
  readonly reason: string | undefined
}

type Bytes = Uint8Array<ArrayBuffer>

const LINES_TYPE = 'application/x-ndjson'
const CSV_TYPE = 'text/csv'
/** By this a spreadsheet knows UTF-8. */
const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf)
const LOST = 'broken off: the connection was lost'

/**
 * Throws as `call` does where nothing came, what the file throws, and the `AbortError` of `signal`;
 * then nothing is kept.
 */
export async function runExport(
  wish: ExportWish,
  file: ExportFile,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<ExportResult> {
  try {
    const result = await copy(wish, file, onProgress, signal)
    await file.keep()
    return result
  } catch (cause) {
    // What went wrong first is told.
    await file.drop().catch(() => undefined)
    throw cause
  }
}

async function copy(
  { ask, kind, fields, isSafe }: ExportWish,
  file: ExportFile,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<ExportResult> {
  const full = new AbortController()
  const response = await call(readPath(ask, 'search'), {
    method: 'POST',
    headers: { Accept: kind === 'csv' ? CSV_TYPE : LINES_TYPE },
    body: {
      ...readMembers(ask),
      order: ask.order,
      ...(fields && { fields }),
      ...(kind === 'csv' && { csv_safe: isSafe }),
    },
    signal: AbortSignal.any([signal, full.signal]),
  })
  const records = new ExportRecords(kind)
  let bytes = 0
  const write = async (pieces: readonly Bytes[]) => {
    await file.write(pieces)
    for (const piece of pieces) bytes += piece.length
  }
  if (kind === 'csv' && isSafe) await write([BYTE_ORDER_MARK])
  let why: string | undefined
  const reader = (response.body as ReadableStream<Bytes>).getReader()
  for (;;) {
    const chunk = await next(reader, signal)
    if (chunk === 'lost') why = LOST
    if (typeof chunk === 'string') break
    if (bytes + chunk.length > file.bytesMax) {
      why = BLOB_FULL
      full.abort()
      break
    }
    await write(records.take(chunk))
    onProgress({ events: records.events, bytes })
  }
  const { rest, reason } = records.end()
  await write(rest)
  if (reason === undefined && why !== undefined) {
    const columns = (fields?.length ?? 0) + (ask.streamId === undefined ? 4 : 3)
    await write([new TextEncoder().encode(endingLine(kind, columns, why))])
  }
  return { events: records.events, bytes, reason: reason ?? why }
}

/** The next piece; `over` at the end, `lost` where the answer broke off before it. */
async function next(
  reader: ReadableStreamDefaultReader<Bytes>,
  signal: AbortSignal,
): Promise<Bytes | 'over' | 'lost'> {
  try {
    const { value, done } = await reader.read()
    return done ? 'over' : value
  } catch {
    signal.throwIfAborted()
    return 'lost'
  }
}

/** What to show where nothing was kept; undefined when the person gave it up. */
export function exportFailure(cause: unknown): string | undefined {
  const text = failureText(cause)
  return text === undefined || cause instanceof ApiError ? text : `The file: ${text}`
}
