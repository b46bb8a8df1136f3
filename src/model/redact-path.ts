/**
 * Paths in `redact_fields`: dotted, from the event's root, compared without case, `-` and `_`. They
 * cross arrays by themselves; `[]` after a segment says so, as in the paths of the field catalog,
 * and changes nothing. What other notations would mean by more is refused, not passed over: who
 * lists a path relies on it.
 */

/** As keys are compared, also with the denylist. */
export function normalizeSegment(segment: string): string {
  return segment.replace(/[-_]/g, '').toLowerCase()
}

/** The same for a path's segments and for keys that they are compared with. */
export function normalizePathSegment(segment: string): string {
  // A key may end in it, too (`ids[]` of a form): to redact both is the safe reading.
  return normalizeSegment(segment.replace(/(?<=[^[\]])(?:\[\])+$/, ''))
}

/** Paths with the same text here are the same path. */
export function normalizePath(path: string): string {
  return path.split('.').map(normalizePathSegment).join('.')
}

/** Why a path redacts nothing, or not what its writer meant, and what to write; else undefined. */
export function findPathFault(path: string): string | undefined {
  if (path.includes('\0')) return 'must not hold the character U+0000'
  const segments = path.split('.')
  if (segments.includes('')) return 'must be a dotted path without empty segments'
  if (segments[0] === '$') return 'must begin with a key: paths have no "$" for the root'
  if (path.includes('*')) {
    return 'must not hold "*": there are no wildcards; a path redacts all that is below it'
  }
  if (/\[["'0-9-]/.test(path)) {
    return 'must have dots between keys and "[]" for any element of an array, no index or quotes'
  }
  const isMisplaced = segments.some((each) => /^\[\]|\[\](?!(?:\[\])*$)/.test(each))
  if (isMisplaced) return 'must have "[]" right behind a key, at the end of a segment'
  return undefined
}
