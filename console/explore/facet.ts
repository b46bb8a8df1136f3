export interface FacetValue {
  /** As JSON, every digit kept. */
  readonly json: string
  /** As it is shown. */
  readonly text: string
  readonly count: number
}

export interface Facet {
  /** A path, `_level` or `_service`. */
  readonly field: string
  readonly label: string
  readonly values: readonly FacetValue[]
}
