/** Widths of columns in the address: `service:120,:400`, by the field's text; the line has none. */
import { splitNames } from '../../src/model/field-path.ts'

const WIDTHS_MAX = 64
const WIDTH_MAX = 10_000

export function widthsOf(text: string): ReadonlyMap<string, number> {
  const pairs = splitNames(text)
    .slice(0, WIDTHS_MAX)
    .flatMap((pair): [string, number][] => {
      const [, name, digits] = /^(.*):(\d{1,5})$/s.exec(pair) ?? []
      const width = Number(digits)
      return name !== undefined && width >= 1 && width <= WIDTH_MAX ? [[name, width]] : []
    })
  return new Map(pairs)
}

export function widthsText(widths: ReadonlyMap<string, number>): string {
  return [...widths].map(([name, width]) => `${name}:${width}`).join(',')
}
