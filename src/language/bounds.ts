/** The bounds of a query and of what it can name, which `src/limits.ts` lists with all others. */

/** A query's text, in UTF-8. */
export const QUERY_TEXT_BYTES_MAX = 8 * 1024
/** Nesting: parentheses, lists of values, conditions on one element. */
export const QUERY_LEVELS_MAX = 64
/** Conditions in one query; each value of a list counts. */
export const QUERY_CLAUSES_MAX = 256
/** `*` and `?` in one query, also in fields; `field:*` does not count. */
export const QUERY_WILDCARDS_MAX = 64
/** One regular expression, between its slashes. */
export const QUERY_REGEX_BYTES_MAX = 1024
/** A dotted path, learned or asked for; a field with a longer one is in the raw event only. */
export const FIELD_PATH_BYTES_MAX = 1_024
/** Arrays of objects keep typed columns of their own down to this nesting; deeper is text. */
export const NESTED_COLUMNS_DEPTH_MAX = 3
