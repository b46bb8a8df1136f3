/** Which known words an unknown one may have meant. */

const SHOWN_MAX = 5
const CHARS_MAX = 64
/** A shorter word is part of many, and like none of them. */
const PART_CHARS_MIN = 3

/** Up to five of `known` that are like `word`, the most similar first. */
export function nearest<T>(word: string, known: Iterable<T>, textOf: (one: T) => string): T[] {
  const wanted = word.slice(0, CHARS_MAX).toLowerCase()
  const distanceMax = Math.max(2, wanted.length / 3)
  const rated: { readonly one: T; readonly distance: number }[] = []
  for (const one of known) {
    const text = textOf(one).slice(0, CHARS_MAX).toLowerCase()
    const isPart = wanted !== '' && (text.includes(wanted) || isPartOf(text, wanted))
    // Words of lengths that differ by more are no nearer: most need no comparison.
    if (!isPart && Math.abs(text.length - wanted.length) > distanceMax) continue
    const distance = isPart ? 0.5 : editDistance(wanted, text)
    if (distance <= distanceMax) rated.push({ one, distance })
  }
  rated.sort((a, b) => a.distance - b.distance)
  return rated.slice(0, SHOWN_MAX).map(({ one }) => one)
}

/** A word, or a field's plain value, as `format` writes it. */
const BEGINNING = /^(?:[\p{L}\p{N}_.@-]+:)?[\p{L}\p{N}_]{2,64}$/u

/**
 * A clause that also finds longer words: for `exhaust` it is `exhaust*`, which finds "exhausted".
 * Words are whole words and values whole values, and who begins does not know that. Undefined for
 * what is no single word.
 */
export function widerClause(clause: string): string | undefined {
  return BEGINNING.test(clause) ? `${clause}*` : undefined
}

function isPartOf(text: string, wanted: string): boolean {
  return text.length >= PART_CHARS_MIN && wanted.includes(text)
}

/** Levenshtein distance: characters to add, remove or replace. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
