/** What a decoder is: it reads parts of one framing. All of them: `all-decoders.ts`. */
import type { BatchInput, Part } from '../../src/model/batch/accepted-batch.ts'
import type { TransformSettings } from '../../src/model/stream.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import type { EventBuffer } from '../tape/event-buffer.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import type { PartOutcome } from './part-outcome.ts'

export interface Decoder {
  /** What its parts' bytes are. Events of `json` stay where they are; others go to a buffer. */
  readonly input: BatchInput
  /** Invalid UTF-8 is repaired and counted by lines, not once for the part. */
  readonly isByLine?: boolean
  /** For one worker, where it may keep what makes the next part faster. */
  readonly create: (target: DecodeTarget) => DecodePart
}

/** Where events go. */
export interface DecodeTarget {
  readonly tape: JsonTape
  readonly events: DecodedEvents
  /** For the JSON of events that are generated. */
  readonly generated: EventBuffer
}

/**
 * Decodes a part of `bytes`, which are where kernels can read them. After the part comes a line
 * feed, and after that `TAPE_PADDING` bytes can be read.
 */
export type DecodePart = (bytes: Uint8Array, part: Part, context: DecodeContext) => PartOutcome

export interface DecodeContext {
  /** Of the part's stream. */
  readonly settings: TransformSettings
  /** When the batch was received, in milliseconds since 1970. */
  readonly receivedAtMs: number
  /** Shared memory for what the decoder returns beside the events, if there is any. */
  readonly items: Uint8Array | undefined
}
