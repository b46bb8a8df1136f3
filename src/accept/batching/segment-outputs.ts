/** Shared memory that workers write a batch's block, payload and bulk items to. */
import type { BatchBuffers } from '../../bytes/batch-buffers.ts'
import type { SegmentOutput } from '../../model/batch/accepted-batch.ts'
import type { EncodedBatch } from '../../model/batch/encoded-batch.ts'
import type { PartResult } from '../../model/batch/part-result.ts'

/** For the names and types of a block's columns; the rest grows with the events. */
const BLOCK_HEAD_BYTES = 2_048

/** Guesses an output's size from its input's: a little above the largest ratio seen lately. */
class SizeEstimator {
  #ratio = 1

  bytesFor(inputBytes: number): number {
    return BLOCK_HEAD_BYTES + Math.ceil(inputBytes * this.#ratio)
  }

  saw(inputBytes: number, outputBytes: number): void {
    const ratio = (1.05 * Math.max(0, outputBytes - BLOCK_HEAD_BYTES)) / inputBytes
    this.#ratio = Math.min(2, Math.max(ratio, 0.9 * this.#ratio))
  }
}

export class SegmentOutputs {
  readonly #buffers: BatchBuffers
  readonly #blockSize = new SizeEstimator()
  readonly #payloadSize = new SizeEstimator()
  readonly #itemsSize = new SizeEstimator()

  constructor(buffers: BatchBuffers) {
    this.#buffers = buffers
  }

  /** All buffers that a batch of `length` bytes needs, or none when it throws. */
  take(length: number, hasItems = false): SegmentOutput {
    const taken: Uint8Array[] = []
    const take = (size: SizeEstimator) => {
      const buffer = this.#buffers.take(size.bytesFor(length))
      taken.push(buffer)
      return buffer
    }
    try {
      const output = { block: take(this.#blockSize), payload: take(this.#payloadSize) }
      return hasItems ? { ...output, items: take(this.#itemsSize) } : output
    } catch (cause) {
      for (const buffer of taken) this.#buffers.release(buffer)
      throw cause
    }
  }

  /**
   * Releases what the worker did not use of `output`. The worker's message holds another
   * SharedArrayBuffer object for the same memory; it is replaced by the one we gave.
   */
  claim(encoded: EncodedBatch, output: SegmentOutput, inputBytes: number): EncodedBatch {
    const parts = this.#claimItems(encoded.parts, output, inputBytes)
    const [segment] = encoded.segments
    const isBlockUsed = segment?.block.bytes.buffer instanceof SharedArrayBuffer
    const isPayloadUsed = segment?.payload.buffer instanceof SharedArrayBuffer
    if (!isBlockUsed) this.#buffers.release(output.block)
    if (!isPayloadUsed) this.#buffers.release(output.payload)
    if (segment === undefined) return { ...encoded, parts }
    const { block, payload } = segment
    this.#blockSize.saw(inputBytes, block.bytes.length)
    this.#payloadSize.saw(inputBytes, payload.length)
    const bytes = isBlockUsed ? output.block.subarray(0, block.bytes.length) : block.bytes
    const ownPayload = isPayloadUsed ? output.payload.subarray(0, payload.length) : payload
    const own = { ...segment, payload: ownPayload, block: { ...block, bytes } }
    return { ...encoded, parts, segments: [own, ...encoded.segments.slice(1)] }
  }

  /** The same for `output.items`, which the writer of the reply releases. */
  #claimItems(
    parts: readonly PartResult[],
    { items }: SegmentOutput,
    inputBytes: number,
  ): readonly PartResult[] {
    const [part] = parts
    const bulkItems = part?.bulkItems
    if (items === undefined) return parts
    if (bulkItems === undefined || !(bulkItems.json.buffer instanceof SharedArrayBuffer)) {
      this.#buffers.release(items)
      return parts
    }
    this.#itemsSize.saw(inputBytes, bulkItems.json.length)
    return [
      { ...part!, bulkItems: { ...bulkItems, json: items.subarray(0, bulkItems.json.length) } },
    ]
  }
}
