/** Which layouts of a block's index have their templates in common. */
import type { ColumnIndex, RowLayout } from '../block/column-index.ts'

export type CellRun = Pick<RowLayout, 'first' | 'count'>

/** The layouts with the same slots: they have their templates in common. */
export interface LayoutGroup {
  readonly cells: CellRun
  readonly layouts: number[]
  templates: number
}

/**
 * A group for each layout, the same one for layouts with equal slots: a number may be an integer
 * here and a float there, and the text between the values is the same.
 */
export function groupBySlots({ layouts, layoutCells }: ColumnIndex): LayoutGroup[] {
  const byHash = new Map<number, LayoutGroup>()
  return layouts.map((cells, layout) => {
    let hash = cells.count
    for (let cell = cells.first; cell < cells.first + cells.count; cell++) {
      hash = Math.imul(hash ^ layoutCells[2 * cell]!, 0x01000193)
    }
    const known = byHash.get(hash)
    const isSame = known !== undefined && haveEqualSlots(layoutCells, known.cells, cells)
    const group = isSame ? known : { cells, layouts: [], templates: 0 }
    byHash.set(hash, group)
    // An ambiguous layout has no templates: a cell holds less than its row.
    if (!cells.isAmbiguous) group.layouts.push(layout)
    return group
  })
}

function haveEqualSlots(layoutCells: Int32Array, a: CellRun, b: CellRun): boolean {
  if (a.count !== b.count) return false
  for (let i = 0; i < a.count; i++) {
    if (layoutCells[2 * (a.first + i)] !== layoutCells[2 * (b.first + i)]) return false
  }
  return true
}
