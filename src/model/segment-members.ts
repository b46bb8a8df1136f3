/**
 * The members of a merged row: which segments it was made of, in id order, and how many events
 * each has. An event keeps the id it was acknowledged under, `<segment>-<ordinal>`; this is how it
 * is found in the row.
 *
 *   per member: varuint id minus the id before it (of the first: minus the row's), varuint events
 */
import assert from 'node:assert/strict'
import type { SegmentId } from './segment-id.ts'

export interface SegmentMember {
  readonly segmentId: SegmentId
  readonly eventCount: number
}

/** Ids of one row are at most this far apart: a whole window of compaction. Varuints stay exact. */
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

/** The inverse of `encodeMembers`; `first` is the row's id. Throws on what it did not write. */
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

function pushVaruint(bytes: number[], value: number): void {
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  bytes.push(rest)
}

function readVaruint(bytes: Uint8Array, at: { index: number }): number {
  let value = 0
  for (let factor = 1; ; factor *= 0x80) {
    const byte = bytes[at.index++]
    if (byte === undefined) throw new Error('the members of a merged segment are cut short')
    value += (byte & 0x7f) * factor
    if (byte < 0x80) return value
  }
}
