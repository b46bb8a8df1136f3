/**
 * The text index in SQL. A query uses it only if it names the very expression that the index was
 * made over, so the tables and the compiler of queries both take it from here. No call on it may
 * name a tokenizer: that switches the index off.
 */
import { FOLD_FUNCTION, TOKENIZER } from '../../language/words.ts'
import { quoteFieldPath } from '../../model/field-path.ts'

/** The strings at `path`, in lower case; NULL in a row with none. Precondition: `isFieldPath`. */
export function textIndexExpression(path: string): string {
  return `${FOLD_FUNCTION}(payload.${quoteFieldPath(path)}.:String)`
}

/** The form in which identifiers are compared; the bloom filter on an id field is over it. */
export function idIndexExpression(path: string): string {
  return `payload.${quoteFieldPath(path)}.:String`
}

/** The type of a text index. Packed postings are 4 B a row less on disk. */
export const TEXT_INDEX_TYPE = `text(tokenizer = '${TOKENIZER}', posting_list_codec = 'bitpacking')`
