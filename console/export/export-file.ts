/**
 * Where an export goes: into a file that the person chose, piece by piece, where the browser has a
 * picker; else into a `Blob`, which the browser keeps until the end and then saves. A page is given
 * a picker in secure contexts alone: by HTTPS, or on this machine.
 */
import { formatBytes } from '../base/format.ts'

type Bytes = Uint8Array<ArrayBuffer>

export interface ExportFile {
  readonly name: string
  /** More than this it does not take. */
  readonly bytesMax: number
  readonly write: (pieces: readonly Bytes[]) => Promise<void>
  /** Saves what was written. */
  readonly keep: () => Promise<void>
  /** Saves nothing. */
  readonly drop: () => Promise<void>
}

/** Only some browsers have it, and the types of none. */
interface PickerWindow {
  readonly showSaveFilePicker?: (options: {
    readonly suggestedName: string
  }) => Promise<FileSystemFileHandle>
}

/** What the page keeps of a file at most, where it cannot be written piece by piece. */
export const BLOB_BYTES_MAX = 256 * 1024 * 1024
/** Pieces become a `Blob` when they are so many bytes: browsers put large ones on disk. */
const BLOB_PIECE_BYTES = 4 * 1024 * 1024
const SAVED_WITHIN_MS = 60_000

export function hasPicker(): boolean {
  return (window as PickerWindow).showSaveFilePicker !== undefined
}

/** Call it right after a click. Undefined when the person chose no file after all. */
export async function openExportFile(name: string): Promise<ExportFile | undefined> {
  if (!hasPicker()) return blobFile(name)
  try {
    const handle = await (window as PickerWindow).showSaveFilePicker!({ suggestedName: name })
    return pickedFile(handle)
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') return undefined
    throw cause
  }
}

/** What is written is in the file only when it is closed: until then the old content is there. */
async function pickedFile(handle: FileSystemFileHandle): Promise<ExportFile> {
  const stream = await handle.createWritable()
  return {
    name: handle.name,
    bytesMax: Number.POSITIVE_INFINITY,
    write: async (pieces) => {
      for (const piece of pieces) await stream.write(piece)
    },
    keep: () => stream.close(),
    drop: () => stream.abort(),
  }
}

function blobFile(name: string): ExportFile {
  const blobs: Blob[] = []
  let pieces: Bytes[] = []
  let bytes = 0
  const collect = () => {
    blobs.push(new Blob(pieces))
    pieces = []
    bytes = 0
  }
  return {
    name,
    bytesMax: BLOB_BYTES_MAX,
    write: async (more) => {
      for (const piece of more) {
        pieces.push(piece)
        bytes += piece.length
      }
      if (bytes >= BLOB_PIECE_BYTES) collect()
    },
    keep: async () => {
      collect()
      download(new Blob(blobs), name)
    },
    drop: async () => {
      blobs.length = 0
      pieces = []
    },
  }
}

function download(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), SAVED_WITHIN_MS)
}

/** Why there is not more of it. */
export const BLOB_FULL = `this browser keeps at most ${formatBytes(BLOB_BYTES_MAX)} of a file`
