/**
 * The members of a merged row: the segments it was made of, in id order, and how many events each
 * has. An event keeps the id it was acknowledged under, `<segment>-<ordinal>`; the members show
 * where it is in the row.
 *
 *   per member: varuint id minus the id before it (of the first: minus the row's), varuint events
 */
import assert from 'node:assert/strict'
import type { SegmentId } from './segment-id.ts'
import { pushVaruint, readVaruint } from './varuint.ts'

export interface SegmentMember {
  readonly segmentId: SegmentId
  readonly eventCount: number
}

/** Ids of one row differ by at most a whole window of compaction. Varuints stay exact. */
const DELTA_MAX = 2n ** 52n

export function encodeMembers(members: readonly SegmentMember[]): Uint8Array {
  assert(members.length > 0)
  const bytes: number[] = []
  let last: bigint = members[0]!.segmentId
  for (const { segmentId, eventCount } of members) {
    const delta = segmentId - last
    assert(delta >= 0n && delta < DELTA_MAX && eventCount > 0)
    pushVaruint(bytes, Number(delta))
    pushVaruint(bytes, eventCount)
    last = segmentId
  }
  return Uint8Array.from(bytes)
}

/** The inverse of `encodeMembers`; `first` is the row's id. Throws on invalid bytes. */
export function decodeMembers(bytes: Uint8Array, first: SegmentId): SegmentMember[] {
  const members: SegmentMember[] = []
  const at = { index: 0 }
  let id: bigint = first
  while (at.index < bytes.length) {
    id += BigInt(readVaruint(bytes, at))
    members.push({ segmentId: id as SegmentId, eventCount: readVaruint(bytes, at) })
  }
  return members
}
