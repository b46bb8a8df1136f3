/** Plain-text tables: first column to the left, numbers to the right. */

export type TableRow = readonly string[]

export function formatTable(header: TableRow, rows: readonly TableRow[]): string {
  const all = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const formatRow = (row: TableRow) =>
    widths
      .map((width, column) => padCell(row[column] ?? '', width, column))
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return [formatRow(header), rule, ...rows.map(formatRow)].join('\n')
}

function padCell(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width)
}

/** Three significant digits, never in exponents: `0.571`, `12.3`, `240`. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (value === 0) return '0'
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toFixed(Math.min(digits, 4))
}
