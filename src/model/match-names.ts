/** How well a part of a name fits the paths of fields, and which fit best: for input boxes. */

/** Case does not matter for A to Z; other letters are compared as they are, as in PostgreSQL. */
export function foldName(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/**
 * 0: it is the path; 1: the path's last name; 2: the beginning of one of its names; 3: anywhere in
 * it. Undefined: it is not in it. Both are folded.
 */
export function matchRank(path: string, part: string): number | undefined {
  if (!path.includes(part)) return undefined
  if (path === part) return 0
  if (path.endsWith(`.${part}`)) return 1
  return path.startsWith(part) || path.includes(`.${part}`) ? 2 : 3
}

export interface RankedName {
  readonly name: string
  readonly rank: number
  /** Of the events: from 0 to 1; undefined where it is not known. */
  readonly share: number | undefined
}

/** The better rank first, then what more events have, then the shorter name, then by letters. */
export function compareRanked(a: RankedName, b: RankedName): number {
  return (
    a.rank - b.rank ||
    (b.share ?? 0) - (a.share ?? 0) ||
    a.name.length - b.name.length ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  )
}

/** Keeps the first `max` of all that it is given: to sort thousands for a few takes time. */
export class FirstOf<T> {
  /** In order. */
  readonly kept: T[] = []
  readonly #max: number
  readonly #compare: (a: T, b: T) => number

  constructor(max: number, compare: (a: T, b: T) => number) {
    this.#max = max
    this.#compare = compare
  }

  add(one: T): void {
    const { kept } = this
    const isFull = kept.length === this.#max
    if (isFull && (this.#max === 0 || this.#compare(one, kept.at(-1)!) >= 0)) return
    if (isFull) kept.pop()
    let at = kept.length
    while (at > 0 && this.#compare(one, kept[at - 1]!) < 0) at--
    kept.splice(at, 0, one)
  }
}
