/** Cells of CSV: RFC 4180, and what spreadsheets take for more than text. */

/**
 * What a spreadsheet may run: OWASP, "CSV Injection", full-width forms included; U+0000 is of ASVS
 * 1.2.10.
 */
const FORMULA = /^[=@+\-\t\r\n\0＝＠＋－]/
const NUMBER = /^[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Text that a spreadsheet would take for a formula gets an apostrophe; numbers do not. */
export function safeText(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
}

/** An empty string is written in quotes: a field that is not there is nothing at all. */
export function csvCell(value: string, isString: boolean): string {
  const isPlain = !/[",\r\n]/.test(value) && !(isString && value === '')
  return isPlain ? value : `"${value.replaceAll('"', '""')}"`
}
