/** What a segment says of its stream's schema. */

export interface ShapeDelta {
  /** 64-bit fingerprint as 16 hex digits. */
  readonly shape: string
  readonly count: number
  readonly firstOrdinal: number
  /**
   * Its leaves (`decodeLeaf`) with the objects around them, when the worker describes the shape:
   * when it first meets the shape on this stream, and again every `SHAPE_DESCRIBE_MS`.
   */
  readonly leaves: readonly string[] | undefined
}

export interface SchemaDelta {
  readonly shapes: readonly ShapeDelta[]
  /** Events of shapes beyond `DELTA_SHAPES_MAX`, which are only counted. */
  readonly shapesSkipped: number
  /** Fields with integers that fit 64 bits only without a sign; undefined for too many. */
  readonly largePaths: readonly string[] | undefined
}
