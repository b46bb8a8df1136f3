/**
 * What a surface says of its bodies: how one is cut into parts, and which decoder reads these. The
 * formats here are of use to several surfaces; others lie with the surface that has them.
 */
import type { BatchBuffers } from '../../bytes/batch-buffers.ts'
import { IngestError } from '../../errors.ts'
import type { BatchInput, Part } from '../../model/batch/accepted-batch.ts'
import { BodyFramer, type BodyKinds, type Framer, type FramerSink } from './body-framer.ts'
import { type Cutter, LineCutter } from './cutters.ts'
import {
  ARRAY_CLOSE,
  ARRAY_OPEN,
  countLineFeeds,
  firstToken,
  isDocumentStart,
  notAnArray,
  trimEnd,
} from './json-framing.ts'

export interface BodyFormat {
  /** Tells apart the requests under one Idempotency-Key, so it stays what it is. */
  readonly name: string
  /** A small body that is there as a whole, or why it is refused. `options` are its part's. */
  whole(bytes: Uint8Array, options: Part['options']): WholePart | IngestError
  /**
   * For any other body. `declaredBytes`: the Content-Length where it is the length of what is
   * pushed, else 0.
   */
  createFramer(declaredBytes: number, buffers: BatchBuffers, sink: FramerSink): Framer
}

/** A body that is one part. */
export interface WholePart {
  /** Without any there is no event. */
  readonly bytes: Uint8Array
  readonly framing: string
  /** What its decoder takes: parts of one input may share a batch. */
  readonly input: BatchInput
  /** Line feeds of the body before `bytes`. */
  readonly linesBefore?: number
  /** Size of its events, where that is more than the size of `bytes`. */
  readonly eventBytes?: number
  /** The most that its items of the reply take; memory for them is reserved. */
  readonly itemBytes?: number
}

/** A body of one framing, cut where the cutters say. */
export function plainFormat(
  framing: string,
  input: BatchInput,
  createCutter: () => Cutter | undefined,
): BodyFormat {
  return {
    name: framing,
    whole: (bytes) => ({ bytes, framing, input }),
    createFramer: (...rest) => new BodyFramer({ framing, cutter: createCutter() }, ...rest),
  }
}

/** Cut at line ends. */
export function lineFormat(framing: string, input: BatchInput): BodyFormat {
  return plainFormat(framing, input, () => new LineCutter())
}

/** Never cut: its decoder reads the body as a whole. */
export function documentFormat(framing: string, input: BatchInput): BodyFormat {
  return plainFormat(framing, input, () => undefined)
}

/**
 * The same where the events of a body may be larger than it is, which counts where small bodies
 * share a batch. `measure` says how large, or why the body is refused.
 */
export function measuredFormat(
  format: BodyFormat,
  measure: (bytes: Uint8Array, options: Part['options']) => number | IngestError,
): BodyFormat {
  return {
    ...format,
    whole: (bytes, options) => {
      const eventBytes = measure(bytes, options)
      if (eventBytes instanceof IngestError) return eventBytes
      const whole = format.whole(bytes, options)
      return whole instanceof IngestError ? whole : { ...whole, eventBytes }
    },
  }
}

export const NDJSON_BODY = lineFormat('ndjson', 'json')
export const TEXT_BODY = lineFormat('text', 'text')
export const DOCUMENT_BODY = documentFormat('document', 'json')

/** An array, or what else there is, as its beginning shows. */
export function detectedFormat(name: string, input: BatchInput, kinds: BodyKinds): BodyFormat {
  return {
    name,
    whole: (bytes) => detectWhole(bytes, input, kinds),
    createFramer: (...rest) => new BodyFramer(kinds, ...rest),
  }
}

/** An array, lines or one document. */
export const JSON_BODY: BodyFormat = detectedFormat('json', 'json', { array: 'array' })

const LINE_FEED = 0x0a

/** Of an array, the bytes between its brackets. */
function detectWhole(
  bytes: Uint8Array,
  input: BatchInput,
  { array, other }: BodyKinds,
): WholePart | IngestError {
  const first = firstToken(bytes, 0, bytes.length)
  if (first === bytes.length) return { framing: array, input, bytes: bytes.subarray(0, 0) }
  if (bytes[first] !== ARRAY_OPEN) {
    if (other !== undefined) return { framing: other.framing, input, bytes }
    const lineEnd = bytes.indexOf(LINE_FEED, first)
    const isDocument = lineEnd >= 0 && isDocumentStart(bytes, first, lineEnd)
    return { framing: isDocument ? 'document' : 'ndjson', input, bytes }
  }
  const end = trimEnd(bytes, first, bytes.length) - 1
  if (end === first || bytes[end] !== ARRAY_CLOSE) return notAnArray(bytes, first + 1, bytes.length)
  const isEmpty = firstToken(bytes, first + 1, end) === end
  const inner = isEmpty ? bytes.subarray(0, 0) : bytes.subarray(first + 1, end)
  return { framing: array, input, bytes: inner, linesBefore: countLineFeeds(bytes, first) }
}
