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
