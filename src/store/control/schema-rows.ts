/** Columns that hold a stream's caps, and the caps made of them. */
import type { SchemaCaps } from '../../model/schema.ts'

export const CAP_COLUMNS = 'field_soft_cap, field_hard_cap, shape_soft_cap, shape_hard_cap'

export interface CapRow {
  readonly field_soft_cap: number
  readonly field_hard_cap: number
  readonly shape_soft_cap: number
  readonly shape_hard_cap: number
}

export function toCaps(row: CapRow): SchemaCaps {
  return {
    fieldsSoft: row.field_soft_cap,
    fieldsHard: row.field_hard_cap,
    shapesSoft: row.shape_soft_cap,
    shapesHard: row.shape_hard_cap,
  }
}
