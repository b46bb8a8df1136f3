/** How paths match patterns: as in uWebSockets.js, by segments. */

/**
 * One digit a segment: literal 3, parameter 2, final wildcard 1; of two, the greater is the better
 * match. Empty when the path does not match.
 */
export function rankOf(pattern: readonly string[], segments: readonly string[]): string {
  let rank = ''
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index]
    if (expected === '*' && segment !== undefined) return `${rank}1`
    if (segment === undefined) return ''
    if (expected === segment) rank += '3'
    else if (expected.startsWith(':') && segment !== '') rank += '2'
    else return ''
  }
  return pattern.length === segments.length ? rank : ''
}

/** The segments that parameters of `pattern` stand for. */
export function paramsOf(pattern: readonly string[], segments: readonly string[]): string[] {
  return segments.filter((_, index) => pattern[index]?.startsWith(':'))
}

/** The better match for the path, if any matches. */
export function bestMatch<T extends { readonly segments: readonly string[] }>(
  patterns: Iterable<T>,
  segments: readonly string[],
): T | undefined {
  let best: T | undefined
  let bestRank = ''
  for (const pattern of patterns) {
    const rank = rankOf(pattern.segments, segments)
    if (rank > bestRank) {
      best = pattern
      bestRank = rank
    }
  }
  return best
}
