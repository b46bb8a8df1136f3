/** What the form of a stream's own projection table depends on, as the catalog knows it. */
export interface TableNeeds {
  /** Whether its events have so few paths that parts with files for each are affordable. */
  readonly isWide: boolean
  /** How many fields were learned, objects included. */
  readonly fields: number
  /** Text fields that were seen with strings, those that matter most first. */
  readonly textPaths: readonly string[]
  /** Fields of identifiers that were seen with strings, those that matter most first. */
  readonly idPaths: readonly string[]
}

/** Of a stream of which nothing was learned yet. */
export const NO_NEEDS: TableNeeds = { isWide: false, fields: 0, textPaths: [], idPaths: [] }

/**
 * Last names of paths whose strings say what belongs together: hardly two events elsewhere have the
 * same, and people look for all events with one. Not `span_id`: it comes with a trace's.
 */
export const ID_FIELDS = /(?:^|\.)(?:trace|request|correlation|session|transaction)[._-]?id$/i
