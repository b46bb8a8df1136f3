/**
 * What this process knows of segments on their way into the projection, for searches: how far its
 * own numbers have come, a little ahead of their recorded checkpoints, and what waits.
 */
import type { RequiredLiteral } from '../language/required-literals.ts'
import { type SegmentId, segmentIdNode } from '../model/segment-id.ts'
import type { NodeMarks } from '../model/segment-place.ts'
import type { StreamId } from '../model/stream.ts'
import type { Materializer } from './materializer.ts'

type Waits = Pick<Materializer, 'projectedOf' | 'prefilter'>

export class WaitingSegments {
  /** By the number that they work for. */
  readonly #materializers = new Map<number, Waits>()

  add(nodeId: number, materializer: Waits): void {
    this.#materializers.set(nodeId, materializer)
  }

  /** What it brought in is in the checkpoint by now, or somebody else's to bring in. */
  remove(nodeId: number, materializer: Waits): void {
    if (this.#materializers.get(nodeId) === materializer) this.#materializers.delete(nodeId)
  }

  /** Every segment of these streams on these nodes up to here is in the projection. */
  projectedOf(streamIds: readonly StreamId[]): NodeMarks {
    return new Map(
      [...this.#materializers].map(([nodeId, each]) => [nodeId, each.projectedOf(streamIds)]),
    )
  }

  /** Lets through the segments that may have all of the literals, as far as is known here. */
  prefilter(literals: readonly RequiredLiteral[]): (segmentId: SegmentId) => boolean {
    const prefilters = new Map(
      [...this.#materializers].map(([nodeId, each]) => [nodeId, each.prefilter(literals)]),
    )
    return (segmentId) => prefilters.get(segmentIdNode(segmentId))?.(segmentId) ?? true
  }
}
