/**
 * Invalid UTF-8 is repaired, not refused: each bad sequence becomes U+FFFD, as the WHATWG decoder
 * does it. A line feed is never part of a multi-byte sequence, so lines stay lines.
 */
import { isUtf8 } from 'node:buffer'
import type { Part } from '../../src/model/batch/accepted-batch.ts'
import { TAPE_PADDING } from '../tape/json-tape.ts'

const LINE_FEED = 0x0a

export interface RepairedParts {
  readonly bytes: Uint8Array
  readonly parts: readonly Part[]
  /** Events repaired, by part. A part that is repaired as a whole counts as one. */
  readonly repaired: readonly number[]
}

/** True when nothing needs repair: one fast call for the whole batch. */
export function isCleanUtf8(bytes: Uint8Array): boolean {
  return isUtf8(bytes)
}

/** Copies the parts into a new padded buffer, repaired by lines or each as a whole. */
export function repairParts(
  bytes: Uint8Array,
  parts: readonly Part[],
  isByLine: (part: Part) => boolean,
): RepairedParts {
  const pieces: Uint8Array[] = []
  const newParts: Part[] = []
  const repaired: number[] = []
  let length = 0
  for (const part of parts) {
    const result = isByLine(part) ? repairLines(bytes, part) : repairWhole(bytes, part)
    // The byte after a part is always a line feed.
    pieces.push(result.bytes, Uint8Array.of(LINE_FEED))
    newParts.push({ ...part, start: length, end: length + result.bytes.length })
    repaired.push(result.repaired)
    length += result.bytes.length + 1
  }
  pieces.push(new Uint8Array(TAPE_PADDING))
  return { bytes: Buffer.concat(pieces), parts: newParts, repaired }
}

interface Repaired {
  readonly bytes: Uint8Array
  readonly repaired: number
}

function repairWhole(bytes: Uint8Array, part: Part): Repaired {
  const whole = bytes.subarray(part.start, part.end)
  if (isUtf8(whole)) return { bytes: whole, repaired: 0 }
  return { bytes: repair(whole), repaired: 1 }
}

function repairLines(bytes: Uint8Array, part: Part): Repaired {
  const pieces: Uint8Array[] = []
  let repaired = 0
  let clean = part.start
  for (let start = part.start; start < part.end; ) {
    const found = bytes.indexOf(LINE_FEED, start)
    const end = found < 0 || found >= part.end ? part.end : found + 1
    const line = bytes.subarray(start, end)
    if (!isUtf8(line)) {
      pieces.push(bytes.subarray(clean, start), repair(line))
      repaired++
      clean = end
    }
    start = end
  }
  pieces.push(bytes.subarray(clean, part.end))
  return { bytes: Buffer.concat(pieces), repaired }
}

/** Node decodes as the WHATWG does, and keeps a byte order mark. The copy leaves shared memory. */
function repair(bytes: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(bytes).toString('utf8'))
}
