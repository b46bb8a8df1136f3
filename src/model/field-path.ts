/**
 * Field paths in ClickHouse SQL. The only place where text from a request becomes part of a
 * statement.
 *
 * Why not a query parameter: ClickHouse takes `{field:Identifier}` for a JSON subcolumn, but
 * clients escape backslashes and control characters of parameters and the server does not undo
 * that for identifiers, so such a path reads a field other than the requested one (seen with
 * 26.7). `getSubcolumn(payload, {field:String})` finds every path but reads the whole payload.
 *
 * Why this is safe: within backquotes the SQL lexer knows two special characters, the backquote
 * and the backslash. What is written here holds ASCII letters, digits, `_`, `.`, and `\xHH` for
 * every other byte: no backquote, and no backslash except at the start of a complete escape. So no
 * path can end the quoted name. It works on bytes, not characters, as ClickHouse's strings do.
 */
const PLAIN_BYTE = /^[A-Za-z0-9_.]$/
/** Not `Buffer`: the query language needs this module in browsers, too. */
const utf8 = new TextEncoder()

/** A path as a quoted identifier. Precondition: `isFieldPath(path)`. */
export function quoteFieldPath(path: string): string {
  let quoted = ''
  for (const byte of utf8.encode(path)) {
    const char = String.fromCharCode(byte)
    quoted += PLAIN_BYTE.test(char) ? char : `\\x${byte.toString(16).padStart(2, '0')}`
  }
  return `\`${quoted}\``
}

/**
 * Whether a field can be read at `path`. ClickHouse accepts no empty name, and three forms are its
 * own syntax even within quotes: ^`a` (the object at a), @`a` and
 * a.:`T` (the values of type T).
 */
export function isFieldPath(path: string): boolean {
  // The path follows the column's name and a dot, so its beginning is checked like any part.
  const behindDot = `.${path}`
  return path !== '' && !/\.[\^@:]`/.test(behindDot)
}

/** Whether the path in the catalog may be that of array elements, which have no own column. */
export function mayBeInArray(path: string): boolean {
  return /\[\](?:\.|$)/.test(path)
}

/** Names with commas between them. Commas in backquotes that are closed are part of a name. */
export function splitNames(text: string): string[] {
  const names: string[] = []
  let start = 0
  // Behind a backquote that nothing closes, others are not looked at: so this is linear.
  let isClosed = true
  for (let at = 0; at < text.length; at++) {
    if (text[at] === ',') {
      names.push(text.slice(start, at))
      start = at + 1
    } else if (text[at] === '`' && isClosed) {
      const end = closingBackquote(text, at + 1)
      isClosed = end > 0
      if (isClosed) at = end
    }
  }
  names.push(text.slice(start))
  return names
}

/** -1 for none. */
function closingBackquote(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === '`') return at
    if (text[at] === '\\') at++
  }
  return -1
}
