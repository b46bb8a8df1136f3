/**
 * The encoded parts of a request, kept until the whole request has been judged.
 *
 * Blocks can be many times the body's size, and are only a short cut to the projection. Past
 * REQUEST_BLOCK_BYTES_MAX, or when there is no memory for them, all of a request's blocks are
 * dropped and the projection reads the request from the raw store. So no request is refused because
 * its blocks are large.
 */
import type { BatchBuffers } from '../../bytes/batch-buffers.ts'
import type { IngestError } from '../../errors.ts'
import { REQUEST_BLOCK_BYTES_MAX } from '../../limits.ts'
import type { SegmentToCommit } from '../../model/batch/committed-group.ts'
import type { EncodedBatch } from '../../model/batch/encoded-batch.ts'
import type { EncodedBlock } from '../../model/batch/encoded-block.ts'
import type { PartResult } from '../../model/batch/part-result.ts'
import { bulkItemBytes, judgeBulkReply } from '../admission/bulk-items-bytes.ts'

interface HeldSegment extends SegmentToCommit {
  block: EncodedBlock | undefined
}

export interface HeldBatch {
  readonly segments: readonly SegmentToCommit[]
  readonly parts: readonly PartResult[]
}

export class HeldBatches {
  readonly #buffers: Pick<BatchBuffers, 'releaseView'>
  #segments: HeldSegment[] = []
  #parts: PartResult[] = []
  #blockBytes = 0
  #itemBytes = 0
  #keepsBlocks = true

  constructor(buffers: Pick<BatchBuffers, 'releaseView'>) {
    this.#buffers = buffers
  }

  /** Of blocks, and of a bulk reply's items. */
  get bytes(): number {
    return this.#blockBytes + this.#itemBytes
  }

  /** Of a bulk reply's items. */
  get itemBytes(): number {
    return this.#itemBytes
  }

  get keepsBlocks(): boolean {
    return this.#keepsBlocks
  }

  add({ segments, parts }: EncodedBatch): HeldBatch {
    this.#itemBytes += bulkItemBytes(parts)
    const held: HeldSegment[] = segments.map((segment) => ({ ...segment }))
    for (const segment of held) {
      this.#blockBytes += segment.block?.bytes.length ?? 0
      this.#segments.push(segment)
    }
    this.#parts.push(...parts)
    if (!this.#keepsBlocks || this.#blockBytes > REQUEST_BLOCK_BYTES_MAX) this.dropBlocks()
    return { segments: held, parts }
  }

  dropBlocks(): void {
    this.#keepsBlocks = false
    for (const segment of this.#segments) {
      if (segment.block !== undefined) this.#buffers.releaseView(segment.block.bytes)
      segment.block = undefined
    }
    this.#blockBytes = 0
  }

  /** Releases everything held, and whatever is added from now on. */
  discard(): void {
    this.dropBlocks()
    this.#itemBytes = 0
    for (const { payload } of this.#segments.splice(0)) this.#buffers.releaseView(payload)
    for (const { bulkItems } of this.#parts.splice(0)) {
      if (bulkItems !== undefined) this.#buffers.releaseView(bulkItems.json)
    }
  }

  /** Why the request can never be answered: its reply exceeds `bytesMax`, the whole budget. */
  judge(bytesMax: number): IngestError | undefined {
    return judgeBulkReply(this.#itemBytes, bytesMax)
  }
}
