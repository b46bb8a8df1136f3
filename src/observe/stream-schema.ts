/**
 * What observe knows about one stream, and what it has learned since the last write. The stream's
 * hard caps bound it: fields and shapes past them are skipped here already and cost no memory.
 */
import {
  BLOCK_PATHS_MAX,
  FIELD_REFRESH_MS,
  FIELD_SAMPLE_MS,
  FIELD_SAMPLES_MAX,
  SHAPE_LEAVES_CHARS_MAX,
  SHAPE_PATHS_BYTES_MAX,
} from '../limits.ts'
import type { SchemaDelta, ShapeDelta } from '../model/batch/schema-delta.ts'
import {
  decodeLeaf,
  FIELD_TYPES,
  type FieldType,
  type Leaf,
  type SchemaCaps,
} from '../model/schema.ts'
import type { KnownSchema, SchemaChange, SchemaCounts } from '../model/schema-changes.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'

interface KnownField {
  /** Bits by number in FIELD_TYPES. */
  types: number
  samples: number
  /** When it was last put into a change, by the time of events; 0 for never. */
  changedMs: number
}

interface ChangedField {
  firstSeenMs: number
  lastSeenMs: number
  readonly typeSeenMs: number[]
  samples: readonly string[]
}

interface ChangedShape {
  count: number
  firstSeenMs: number
  lastSeenMs: number
  readonly exampleSegmentId: SegmentId
  readonly exampleOrdinal: number
  paths: (readonly [string, FieldType])[] | undefined
}

/** What did not fit under the hard caps: leaves and events. */
export interface Skipped {
  fields: number
  shapes: number
}

interface Sizes {
  readonly fields: number
  readonly shapes: number
}

/** Rough bytes in memory of an entry beside its text. */
const ENTRY_BYTES = 128

export class StreamSchema {
  readonly streamId: StreamId
  /** Rough bytes of what is known. */
  bytes = 0
  /** The store has it otherwise: it is to be loaded again. */
  isStale = false
  #caps: SchemaCaps
  #generation: bigint
  /** Everything up to here is in the store or in what `take` gave out. */
  #taken: SegmentId
  #through: SegmentId
  #fields = new Map<string, KnownField>()
  /** Whether its paths are known. */
  #shapes = new Map<string, boolean>()
  #changedFields = new Map<string, ChangedField>()
  #changedShapes = new Map<string, ChangedShape>()
  /** Fields with integers past 64 bits with a sign, as far as this object has met them. */
  readonly #large = new Set<string>()
  #changedLarge: string[] = []
  /** Something was skipped since the last write. */
  #isPartial = false

  constructor(known: KnownSchema) {
    this.streamId = known.streamId
    this.#caps = known.caps
    this.#generation = known.generation
    this.#taken = known.mark
    this.#through = known.mark
    this.#setKnown(known)
  }

  get hasChanges(): boolean {
    const changed = this.#changedFields.size + this.#changedShapes.size
    return this.#through > this.#taken || changed > 0 || this.#isPartial
  }

  /** How many the store should have, if nobody else has learned any. */
  get sizes(): Sizes {
    return { fields: this.#fields.size, shapes: this.#shapes.size }
  }

  /** Whether the segment is counted already. */
  has(segmentId: SegmentId): boolean {
    return segmentId <= this.#through
  }

  /** True also for a shape that is not known here. */
  isDescribed(shape: string): boolean {
    return this.#shapes.get(shape) !== false
  }

  /** Learns from a segment, once. Segments come in id order. */
  add(segmentId: SegmentId, delta: SchemaDelta, skipped: Skipped): void {
    if (segmentId <= this.#through) return
    this.#through = segmentId
    const ms = segmentIdMs(segmentId)
    for (const shape of delta.shapes) {
      this.#countShape(segmentId, ms, shape, skipped)
      if (shape.leaves !== undefined) this.#learn(shape.shape, shape.leaves, ms, skipped)
    }
    for (const path of delta.largePaths ?? []) if (!this.#large.has(path)) this.#learnLarge(path)
    skipped.shapes += delta.shapesSkipped
    if (delta.shapesSkipped > 0 || delta.largePaths === undefined) this.#isPartial = true
  }

  /** The store has some already, perhaps: it merges them. */
  #learnLarge(path: string): void {
    // So many fields are past the cap, whether they are described yet or not.
    if (this.#large.size >= this.#caps.fieldsHard) {
      this.#isPartial = true
      return
    }
    const copy = Buffer.from(path).toString()
    this.#large.add(copy)
    this.#changedLarge.push(copy)
    this.bytes += ENTRY_BYTES + path.length
  }

  /** A segment that cannot be learned from was passed over. */
  markPartial(): void {
    this.#isPartial = true
  }

  /** Takes over the description of a shape that came without one; counts nothing. */
  describe(segmentId: SegmentId, shape: ShapeDelta, skipped: Skipped): void {
    if (shape.leaves === undefined || this.#shapes.get(shape.shape) !== false) return
    const ms = segmentIdMs(segmentId)
    this.#countShape(segmentId, ms, { ...shape, count: 0 }, skipped)
    this.#learn(shape.shape, shape.leaves, ms, skipped)
  }

  /** What is to be written. If that fails, this object is of no use any more. */
  take(): SchemaChange {
    const change = {
      streamId: this.streamId,
      after: this.#taken,
      through: this.#through,
      fields: [...this.#changedFields].map(([path, field]) => ({ path, ...field })),
      shapes: [...this.#changedShapes].map(([shape, changed]) => ({ shape, ...changed })),
      largePaths: this.#changedLarge,
      isPartial: this.#isPartial,
    }
    this.#changedLarge = []
    this.#isPartial = false
    this.#taken = this.#through
    this.#changedFields = new Map()
    this.#changedShapes = new Map()
    return change
  }

  /** The store's word after a write; `expected` is what `sizes` was when it was taken. */
  confirm(counts: SchemaCounts, expected: Sizes): void {
    this.#caps = counts.caps
    const isSame = counts.fields === expected.fields && counts.shapes === expected.shapes
    if (!isSame || counts.generation !== this.#generation) this.isStale = true
  }

  /** The stream as the store has it; what changed since `take` stays to be written. */
  reload(known: KnownSchema): void {
    this.isStale = false
    this.#caps = known.caps
    this.#generation = known.generation
    this.#setKnown(known)
    for (const [path, { typeSeenMs }] of this.#changedFields) {
      const types = typeSeenMs.reduce((bits, ms, type) => bits | (ms > 0 ? 1 << type : 0), 0)
      const there = this.#fields.get(path)
      if (there !== undefined) there.types |= types
      else if (this.#fields.size < this.#caps.fieldsHard) this.#know(path, types)
      else {
        this.#changedFields.delete(path)
        this.#isPartial = true
      }
    }
    for (const [shape, { paths }] of this.#changedShapes) {
      const isThere = this.#shapes.has(shape)
      if (isThere || this.#shapes.size < this.#caps.shapesHard) {
        this.#shapes.set(shape, this.#shapes.get(shape) === true || paths !== undefined)
        if (!isThere) this.bytes += ENTRY_BYTES
      } else {
        this.#changedShapes.delete(shape)
        this.#isPartial = true
      }
    }
  }

  #setKnown(known: KnownSchema): void {
    this.#fields = new Map()
    this.#shapes = new Map(known.describedByShape)
    this.bytes = this.#shapes.size * ENTRY_BYTES
    for (const [path, types] of known.typesByPath) this.#know(path, types)
  }

  #know(path: string, types: number): KnownField {
    const field = { types, samples: 0, changedMs: 0 }
    // A copy: a part of a string keeps the whole of it in memory, here a leaf with its samples.
    this.#fields.set(Buffer.from(path).toString(), field)
    this.bytes += ENTRY_BYTES + path.length
    return field
  }

  #countShape(segmentId: SegmentId, ms: number, delta: ShapeDelta, skipped: Skipped): void {
    const { shape, count, firstOrdinal } = delta
    const changed = this.#changedShapes.get(shape)
    if (changed !== undefined) {
      changed.count += count
      changed.lastSeenMs = Math.max(changed.lastSeenMs, ms)
      changed.firstSeenMs = Math.min(changed.firstSeenMs, ms)
      return
    }
    if (!this.#shapes.has(shape)) {
      if (this.#shapes.size >= this.#caps.shapesHard) {
        skipped.shapes += count
        this.#isPartial = true
        return
      }
      this.#shapes.set(shape, false)
      this.bytes += ENTRY_BYTES
    }
    this.#changedShapes.set(shape, {
      count,
      firstSeenMs: ms,
      lastSeenMs: ms,
      exampleSegmentId: segmentId,
      exampleOrdinal: firstOrdinal,
      paths: undefined,
    })
  }

  #learn(shape: string, leaves: readonly string[], ms: number, skipped: Skipped): void {
    const isNew = this.#shapes.get(shape) === false
    const paths: (readonly [string, FieldType])[] = []
    let pathsBytes = 0
    let chars = 0
    for (const text of leaves) {
      chars += text.length + 1
      const leaf = decodeLeaf(text)
      this.#learnLeaf(leaf, ms, skipped)
      pathsBytes += Buffer.byteLength(leaf.path) + leaf.type.length + 8
      if (isNew && pathsBytes <= SHAPE_PATHS_BYTES_MAX) paths.push([leaf.path, leaf.type])
    }
    // A description this long ends where the worker's bounds are: some leaves are not in it.
    if (leaves.length >= BLOCK_PATHS_MAX || chars > SHAPE_LEAVES_CHARS_MAX) this.#isPartial = true
    const changed = this.#changedShapes.get(shape)
    if (!isNew || changed === undefined) return
    changed.paths = paths
    this.#shapes.set(shape, true)
  }

  #learnLeaf({ path, type, samples }: Leaf, ms: number, skipped: Skipped): void {
    const number = FIELD_TYPES.indexOf(type)
    let known = this.#fields.get(path)
    if (known === undefined) {
      if (this.#fields.size >= this.#caps.fieldsHard) {
        skipped.fields++
        this.#isPartial = true
        return
      }
      known = this.#know(path, 0)
    }
    let changed = this.#changedFields.get(path)
    if (changed === undefined) {
      const pauseMs = known.samples < FIELD_SAMPLES_MAX ? FIELD_SAMPLE_MS : FIELD_REFRESH_MS
      const isNewType = (known.types & (1 << number)) === 0
      if (!isNewType && ms - known.changedMs < pauseMs) return
      known.changedMs = ms
      const typeSeenMs = FIELD_TYPES.map(() => 0)
      changed = { firstSeenMs: ms, lastSeenMs: ms, typeSeenMs, samples: [] }
      this.#changedFields.set(path, changed)
    }
    known.types |= 1 << number
    known.samples = Math.min(FIELD_SAMPLES_MAX, known.samples + samples.length)
    changed.firstSeenMs = Math.min(changed.firstSeenMs, ms)
    changed.lastSeenMs = Math.max(changed.lastSeenMs, ms)
    changed.typeSeenMs[number] = Math.max(changed.typeSeenMs[number] ?? 0, ms)
    changed.samples = mergeSamples(samples, changed.samples)
  }
}

/** The newer first, each once, at most FIELD_SAMPLES_MAX. */
function mergeSamples(newer: readonly string[], older: readonly string[]): readonly string[] {
  if (newer.every((sample) => older.includes(sample))) return older
  return [...new Set([...newer, ...older])].slice(0, FIELD_SAMPLES_MAX)
}
