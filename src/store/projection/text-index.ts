/**
 * The text index in SQL. A query uses it only if it names the very expression that the index was
 * made over, so the tables and the compiler of queries both take it from here. No call on it may
 * name a tokenizer: that switches the index off.
 *
 * The expression is never NULL. Over one that may be, the engine reads conditions right out of the
 * index as well, and fails for parts that lack the index (code 349): every word search of a table.
 */
import {
  ASCII_FOLD_FUNCTION,
  ESCAPE_SEQUENCE,
  FOLD_FUNCTION,
  TO_SEPARATE,
  TOKENIZER,
} from '../../language/words.ts'
import { quoteFieldPath } from '../../model/field-path.ts'

/** How a text of ours gets into a statement: by default as it is, in queries as a parameter. */
type WriteText = (text: string) => string

/** The text with its words apart: `TOKENIZER` splits it as `splitWords` splits what `sql` has. */
export function separatedSql(sql: string, write: WriteText = quoteText): string {
  const text = neverNull(sql)
  // Nearly all texts are ASCII without escapes, whose words the tokenizer finds by itself.
  const isPlain = `isValidASCII(${text}) AND position(${text}, '\\x1b') = 0`
  const folded = `${FOLD_FUNCTION}(${text})`
  const separated = `replaceRegexpAll(${folded}, ${write(TO_SEPARATE)}, ' \\\\1 ')`
  return `if(${isPlain}, ${ASCII_FOLD_FUNCTION}(${text}), ${separated})`
}

/** In lower case, with a space in place of each escape sequence: for patterns. */
export function unescapedSql(sql: string, write: WriteText = quoteText): string {
  const text = neverNull(sql)
  const ascii = `${ASCII_FOLD_FUNCTION}(${text})`
  const folded = `if(isValidASCII(${text}), ${ascii}, ${FOLD_FUNCTION}(${text}))`
  const cleaned = `replaceRegexpAll(${folded}, ${write(ESCAPE_SEQUENCE)}, ' ')`
  return `if(position(${text}, '\\x1b') = 0, ${folded}, ${cleaned})`
}

function neverNull(sql: string): string {
  return `ifNull(${sql}, '')`
}

/** Of our own texts, which have no quotes. */
function quoteText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\')}'`
}

/** The words of the strings at `path`. Precondition: `isFieldPath`. */
export function textIndexExpression(path: string): string {
  return separatedSql(`payload.${quoteFieldPath(path)}.:String`)
}

/** The form in which identifiers are compared; the bloom filter on an id field is over it. */
export function idIndexExpression(path: string): string {
  return `payload.${quoteFieldPath(path)}.:String`
}

/** The type of a text index. Packed postings are 4 B a row less on disk. */
export const TEXT_INDEX_TYPE = `text(tokenizer = '${TOKENIZER}', posting_list_codec = 'bitpacking')`
