/**
 * What a sequence of events adds to its stream's schema: which shapes occurred, how often, and for
 * shapes that this worker has not described lately, their leaves with samples.
 *
 * Bounded by `DELTA_SHAPES_MAX` and `DELTA_LEAVES_CHARS_MAX` per batch and by
 * `DESCRIBE_CHARS_PER_SECOND` per worker: of a client that sends nothing but new shapes, few are
 * described. The others are described when they recur, or looked up by the main thread.
 * The events themselves are stored whatever happens here.
 */
import { DELTA_SHAPES_MAX, FIELD_SAMPLES_MAX, SHAPE_DESCRIBE_MS } from '../../src/limits.ts'
import type { SchemaDelta, ShapeDelta } from '../../src/model/batch/schema-delta.ts'
import type { ColumnIndex } from '../block/column-index.ts'
import { LayoutNumbers } from '../block/layout-numbers.ts'
import type { EventRange } from '../block/native-block.ts'
import type { TapeSource } from '../block/native-json.ts'
import type { EventFacts } from '../facts/event-facts.ts'
import { NO_LAYOUT } from '../facts/event-layouts.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { largePaths } from './large-paths.ts'
import { ShapeLeaves } from './shape-leaves.ts'

/** Shapes a worker remembers as already described. */
export const SHAPES_KNOWN_MAX = 16_384
/** Characters of descriptions in one batch's delta; what does not fit is described later. */
export const DELTA_LEAVES_CHARS_MAX = 128 * 1024
/** Characters of descriptions that a worker makes in a second: at most 5 % of its time. */
export const DESCRIBE_CHARS_PER_SECOND = 256 * 1024

interface MutableShape {
  count: number
  /** Of its first events, for samples. */
  readonly ordinals: number[]
  readonly low: number
  readonly high: number
}

/** Whose delta it is, and the time it came with: workers have no clock. */
export interface DeltaOrigin {
  readonly streamId: number
  /** Undefined: every shape is described, whatever was described before. */
  readonly receivedAtMs: number | undefined
}

export class SchemaDeltaEncoder {
  /** When each shape was described. Emptied when it is full: then they are described once more. */
  readonly #described = new Map<string, number>()
  readonly #leaves = new ShapeLeaves()
  readonly #counter = new ShapeCounter()
  /** Characters that may be described; refilled by the batches' own time. */
  #budget = DESCRIBE_CHARS_PER_SECOND
  #budgetAtMs = 0

  /** `index`: of the block of `of`, events that `range` lies in. */
  encode(
    source: TapeSource,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
    origin: DeltaOrigin,
    index: ColumnIndex,
    of: EventRange = range,
  ): SchemaDelta {
    const { shapes, skipped } = this.#counter.count(facts, range)
    const deltas: ShapeDelta[] = []
    let left = origin.receivedAtMs === undefined ? Number.POSITIVE_INFINITY : DELTA_LEAVES_CHARS_MAX
    if (origin.receivedAtMs !== undefined) this.#refill(origin.receivedAtMs)
    for (const { low, high, count, ordinals } of shapes) {
      const shape = shapeText(low, high)
      let leaves: readonly string[] | undefined
      if (left > 0 && this.#isDue(origin, shape)) {
        leaves = this.#leaves.describe(source, events, range.first, ordinals)
        left -= this.#leaves.chars
        this.#budget -= this.#leaves.chars
      }
      deltas.push({ shape, count, firstOrdinal: ordinals[0]!, leaves })
    }
    return {
      shapes: deltas,
      shapesSkipped: skipped,
      largePaths: largePaths(source, index, events, of, range),
    }
  }

  /** Whether to describe the shape now; if so, it is taken for described. */
  #isDue({ streamId, receivedAtMs }: DeltaOrigin, shape: string): boolean {
    if (receivedAtMs === undefined) return true
    if (this.#budget <= 0) return false
    const key = `${streamId}/${shape}`
    const describedAtMs = this.#described.get(key)
    if (describedAtMs !== undefined && receivedAtMs - describedAtMs < SHAPE_DESCRIBE_MS) {
      return false
    }
    if (this.#described.size >= SHAPES_KNOWN_MAX) this.#described.clear()
    this.#described.set(key, receivedAtMs)
    return true
  }

  #refill(nowMs: number): void {
    const chars = ((nowMs - this.#budgetAtMs) * DESCRIBE_CHARS_PER_SECOND) / 1_000
    if (chars <= 0) return // Batches may come a little out of order.
    this.#budget = Math.min(DESCRIBE_CHARS_PER_SECOND, this.#budget + chars)
    this.#budgetAtMs = nowMs
  }
}

/** The 16 hex digits of a shape. */
export function shapeText(low: number, high: number): string {
  const highText = (high >>> 0).toString(16).padStart(8, '0')
  return highText + (low >>> 0).toString(16).padStart(8, '0')
}

/** Counts the shapes of a run of events, by their layouts where they have them. */
class ShapeCounter {
  readonly #numbers = new LayoutNumbers()
  /** By the number of a layout. */
  #shapes: (MutableShape | undefined)[] = []
  /** By 53 bits of the fingerprint: enough to tell 256 shapes of one batch apart. */
  #byShape = new Map<number, MutableShape>()

  count(
    facts: EventFacts,
    { first, count }: EventRange,
  ): { readonly shapes: Iterable<MutableShape>; readonly skipped: number } {
    this.#numbers.begin()
    this.#shapes = []
    this.#byShape = new Map()
    let skipped = 0
    for (let ordinal = 0; ordinal < count; ordinal++) {
      const shape = this.#shapeOf(facts, first + ordinal)
      if (shape === undefined) {
        skipped++
        continue
      }
      shape.count++
      if (shape.count <= FIELD_SAMPLES_MAX) shape.ordinals.push(ordinal)
    }
    return { shapes: this.#byShape.values(), skipped }
  }

  /** Undefined for a shape that is one too many. */
  #shapeOf(facts: EventFacts, event: number): MutableShape | undefined {
    const layout = facts.layout[event]!
    if (layout === NO_LAYOUT) return this.#find(facts, event)
    const number = this.#numbers.of(layout)
    if (number === this.#shapes.length) this.#shapes.push(this.#find(facts, event))
    return this.#shapes[number]
  }

  #find({ shapeLow, shapeHigh }: EventFacts, event: number): MutableShape | undefined {
    const [low, high] = [shapeLow[event]!, shapeHigh[event]!]
    const key = (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0)
    const known = this.#byShape.get(key)
    if (known !== undefined) return known
    if (this.#byShape.size === DELTA_SHAPES_MAX) return undefined
    const shape = { count: 0, ordinals: [], low, high }
    this.#byShape.set(key, shape)
    return shape
  }
}
