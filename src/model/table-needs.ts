/** What the catalog knows that decides the form of a stream's own projection table. */
export interface TableNeeds {
  /** Whether its events have so few paths that parts with a file per path are affordable. */
  readonly isWide: boolean
  /** How many fields were learned, objects included. */
  readonly fields: number
  /** Text fields that were seen with strings, most important first. */
  readonly textPaths: readonly string[]
  /** Fields of identifiers that were seen with strings, most important first. */
  readonly idPaths: readonly string[]
}

/** For a stream of which nothing has been learned yet. */
export const NO_NEEDS: TableNeeds = { isWide: false, fields: 0, textPaths: [], idPaths: [] }

/**
 * Last names of paths whose strings identify related events: unrelated events rarely share one, and
 * people search for all events with one. Not `span_id`: events that have it also have a trace id.
 */
export const ID_FIELDS = /(?:^|\.)(?:trace|request|correlation|session|transaction)[._-]?id$/i
