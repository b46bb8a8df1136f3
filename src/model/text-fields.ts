/**
 * Text fields: strings that hold prose. Bare words and phrases of a query search them, word by word
 * and ignoring case; the projection has text indexes over them. Every other string is compared
 * exactly. Which strings they are depends on their names alone, so a query's meaning never depends
 * on which other events there are. The stream's setting `text_fields` has the names.
 */

/** Last names of paths where loggers and collectors put prose, most important first. */
export const TEXT_FIELDS_DEFAULT: readonly string[] = [
  'message',
  'msg',
  '@m',
  '@mt',
  'text',
  'body',
  'log',
  '_raw',
  'event',
  'short_message',
  'full_message',
  'error',
  'exception',
  'err',
  'stack',
  'stack_trace',
  'stacktrace',
  'reason',
  'detail',
  'details',
  'description',
  'title',
]

/**
 * Which paths are text fields: those that are one of the names or end in `.` and one of them, in
 * upper or lower case, at any depth. A name may have dots of its own.
 */
export class TextNames {
  /** By name in lower case: its place in the setting. */
  readonly #last = new Map<string, number>()
  readonly #dotted: { readonly name: string; readonly rank: number }[] = []

  constructor(names: readonly string[]) {
    for (const [rank, name] of names.entries()) {
      const folded = name.toLowerCase()
      if (folded.includes('.')) this.#dotted.push({ name: folded, rank })
      else if (!this.#last.has(folded)) this.#last.set(folded, rank)
    }
  }

  /** `path`: as in the projection, without arrays of objects. */
  has(path: string): boolean {
    return this.rankOf(path) !== undefined
  }

  /** As `PathField` has it: a field of an element by its own name, an element by its array's. */
  hasParts(parts: readonly string[]): boolean {
    const last = parts.at(-1)!
    return this.has(last === '' && parts.length > 1 ? parts.at(-2)! : last)
  }

  /** The place of its name in the setting, the first being the most important. */
  rankOf(path: string): number | undefined {
    const folded = path.toLowerCase()
    const rank = this.#last.get(folded.slice(folded.lastIndexOf('.') + 1))
    const ranks = this.#dotted.flatMap(({ name, rank: other }) => {
      return folded === name || folded.endsWith(`.${name}`) ? [other] : []
    })
    if (rank !== undefined) ranks.push(rank)
    return ranks.length === 0 ? undefined : Math.min(...ranks)
  }
}

/** The setting, unless it is the default: what is sent with every batch is small. */
export function ownTextFields(names: readonly string[]): readonly string[] | undefined {
  const isDefault =
    names.length === TEXT_FIELDS_DEFAULT.length &&
    names.every((name, index) => name === TEXT_FIELDS_DEFAULT[index])
  return isDefault ? undefined : names
}

/** Those that are text fields, the most important first; of one name the least deep. */
export function rankTextPaths(paths: Iterable<string>, names: TextNames): readonly string[] {
  const ranked = [...paths].flatMap((path) => {
    const rank = names.rankOf(path)
    return rank === undefined ? [] : [{ path, rank, depth: path.split('.').length }]
  })
  const sorted = ranked.toSorted((a, b) => a.rank - b.rank || a.depth - b.depth)
  return sorted.map(({ path }) => path)
}
