/**
 * Explicit times: those of events whose text does not hold them (OTLP's TimeUnixNano).
 *
 *   for each, in rising order: UInt32 LE ordinal, Float64 LE milliseconds, UInt32 LE nanoseconds
 *   beyond them
 */
import type { EventRange } from '../block/native-block.ts'
import { type EventFacts, SOURCE_OTLP } from '../facts/event-facts.ts'

const TIME_BYTES = 16
const NANOS_MAX = 999_999
/** Whole milliseconds whose nanoseconds fit 64 bits, before 1970 and after. */
const TIME_MS_MAX = 9_223_372_036_854

/** By ordinal. */
export type ExplicitTimes = ReadonlyMap<number, { readonly ms: number; readonly nanos: number }>

/** Those of a range of events; empty when it has none. */
export function encodeTimes(facts: EventFacts, range: EventRange): Buffer {
  const ordinals: number[] = []
  for (let i = 0; i < range.count; i++) {
    if (facts.timeSource[range.first + i] === SOURCE_OTLP) ordinals.push(i)
  }
  const times = Buffer.alloc(ordinals.length * TIME_BYTES)
  for (const [i, ordinal] of ordinals.entries()) {
    times.writeUInt32LE(ordinal, i * TIME_BYTES)
    times.writeDoubleLE(facts.timeMs[range.first + ordinal]!, i * TIME_BYTES + 4)
    times.writeUInt32LE(facts.timeNanos[range.first + ordinal]!, i * TIME_BYTES + 12)
  }
  return times
}

/** The inverse. Throws on what it did not write. */
export function decodeTimes(bytes: Buffer): ExplicitTimes {
  const times = new Map<number, { ms: number; nanos: number }>()
  if (bytes.length % TIME_BYTES !== 0) throw new Error('segment has part of an explicit time')
  let last = -1
  for (let at = 0; at < bytes.length; at += TIME_BYTES) {
    const ordinal = bytes.readUInt32LE(at)
    const ms = bytes.readDoubleLE(at + 4)
    const nanos = bytes.readUInt32LE(at + 12)
    const isTime = Number.isInteger(ms) && Math.abs(ms) <= TIME_MS_MAX && nanos <= NANOS_MAX
    if (!isTime || ordinal <= last) throw new Error('segment has an explicit time that is none')
    times.set(ordinal, { ms, nanos })
    last = ordinal
  }
  return times
}
