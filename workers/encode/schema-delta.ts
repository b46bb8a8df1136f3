/**
 * What a run of events says about its stream's schema: which shapes occurred, how often, and for
 * shapes this worker has not described before, their (path, type) leaves. Bounded by
 * `DELTA_SHAPES_MAX`; the events themselves are stored whatever happens here.
 */
import { BLOCK_PATHS_MAX, DELTA_SHAPES_MAX, SHAPES_KNOWN_MAX } from '../../src/limits.ts'
import type { SchemaDelta, ShapeDelta } from '../../src/model/batch.ts'
import type { DecodedEvents } from '../decode/decoded-events.ts'
import type { JsonTape } from '../decode/json-tape.ts'
import { ENTRY } from '../decode/tape-types.ts'
import { CATALOG_TYPE_NAMES, catalogType, type EventFacts } from '../transform/event-facts.ts'
import type { EventRange } from './native-block.ts'

interface MutableShape {
  count: number
  readonly firstOrdinal: number
  readonly low: number
  readonly high: number
}

export class SchemaDeltaEncoder {
  /** Emptied when it is full: then shapes are described once more, which does no harm. */
  readonly #known = new Set<string>()

  encode(
    tape: JsonTape,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
    streamId: number,
  ): SchemaDelta {
    const { shapes, skipped } = countShapes(facts, range)
    const deltas: ShapeDelta[] = []
    for (const shape of shapes) {
      const text = shapeText(shape.low, shape.high)
      const key = `${streamId}/${text}`
      const isKnown = this.#known.has(key)
      if (!isKnown) {
        if (this.#known.size >= SHAPES_KNOWN_MAX) this.#known.clear()
        this.#known.add(key)
      }
      deltas.push({
        shape: text,
        count: shape.count,
        firstOrdinal: shape.firstOrdinal,
        leaves: isKnown ? undefined : leavesOf(tape, events, range.first + shape.firstOrdinal),
      })
    }
    return { shapes: deltas, shapesSkipped: skipped }
  }
}

/** The 16 hex digits of a shape. */
export function shapeText(low: number, high: number): string {
  const highText = (high >>> 0).toString(16).padStart(8, '0')
  return highText + (low >>> 0).toString(16).padStart(8, '0')
}

function countShapes(
  facts: EventFacts,
  range: EventRange,
): { readonly shapes: Iterable<MutableShape>; readonly skipped: number } {
  const byShape = new Map<number, MutableShape>()
  let skipped = 0
  let last: MutableShape | undefined
  for (let ordinal = 0; ordinal < range.count; ordinal++) {
    const low = facts.shapeLow[range.first + ordinal]!
    const high = facts.shapeHigh[range.first + ordinal]!
    if (last !== undefined && last.low === low && last.high === high) {
      last.count++
      continue
    }
    // 53 bits of the fingerprint: enough to tell 256 shapes of one batch apart.
    const key = (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0)
    const known = byShape.get(key)
    if (known !== undefined) {
      known.count++
      last = known
    } else if (byShape.size < DELTA_SHAPES_MAX) {
      last = { count: 1, firstOrdinal: ordinal, low, high }
      byShape.set(key, last)
    } else {
      skipped++
    }
  }
  return { shapes: byShape.values(), skipped }
}

/** The event's leaves as `path\0type`, each once. */
function leavesOf(tape: JsonTape, events: DecodedEvents, event: number): string[] {
  const leaves = new Set<string>()
  const end = events.tapeEnd[event]!
  for (let at = events.tapeStart[event]!; at < end; at += ENTRY) {
    const type = CATALOG_TYPE_NAMES[catalogType(tape.entries[at + 1]!)]
    const node = tape.entries[at]!
    // Paths without a column are too long to be shown; no string is made of them.
    if (type === undefined || tape.trie.isTooLong(node)) continue
    leaves.add(`${tape.trie.displayPath(node)}\0${type}`)
    if (leaves.size === BLOCK_PATHS_MAX) break
  }
  return [...leaves]
}
