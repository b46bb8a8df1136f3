/**
 * Paths in `redact_fields`: dotted, from the event's root, compared without case, `-` and `_`. They
 * cross arrays by themselves. `[]` after a segment is allowed, as in the paths of the field
 * catalog, and changes nothing. Notation with any other meaning is refused rather than ignored,
 * because users rely on the paths they list.
 */

/** The form in which keys are compared, also with the denylist. */
export function normalizeSegment(segment: string): string {
  return segment.replace(/[-_]/g, '').toLowerCase()
}

/** The same for a path's segments, and for the keys that are compared with them. */
export function normalizePathSegment(segment: string): string {
  // A key itself may end in `[]` (`ids[]` of a form): to redact both is the safe choice.
  return normalizeSegment(segment.replace(/(?<=[^[\]])(?:\[\])+$/, ''))
}

/** Paths with the same text here are the same path. */
export function normalizePath(path: string): string {
  return path.split('.').map(normalizePathSegment).join('.')
}

/** Why a path redacts nothing or not what was meant, and what to write; undefined if valid. */
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
