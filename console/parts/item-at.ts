/** Which of several names that are typed with commas between them is meant. */

/** The name around `at`; a comma within backquotes is part of a name. */
export function itemAt(text: string, at: number) {
  let start = 0
  let isQuoted = false
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '`') isQuoted = !isQuoted
    if (text[index] !== ',' || isQuoted) continue
    if (index >= at) return trimmed(text, start, index)
    start = index + 1
  }
  return trimmed(text, start, text.length)
}

/** Spaces before it stay. */
function trimmed(text: string, start: number, end: number) {
  const item = text.slice(start, end)
  const from = start + item.length - item.trimStart().length
  return { start: from, end, text: text.slice(from, end) }
}
