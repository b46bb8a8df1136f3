/**
 * Parts of JSON as text: values are passed on as they were written, so that numbers keep their
 * digits and members their order. All functions require text that is valid JSON.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a

/**
 * The members of an object, each value as it was written. Precondition: `text` is a JSON object. Of
 * members with the same name the last counts, as with `JSON.parse`.
 */
export function readMemberTexts(text: string): Map<string, string> {
  const members = new Map<string, string>()
  let depth = 0
  let name: string | undefined
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = stringEnd(text, at)
      if (depth === 1 && name === undefined) name = JSON.parse(text.slice(at, end + 1)) as string
      at = end
    } else if (code === COLON && depth === 1) {
      start = at + 1
    } else if (code === 0x7b || code === 0x5b) {
      depth++
    } else if (code === 0x7d || code === 0x5d || code === COMMA) {
      const isEnd = depth === 1 && name !== undefined
      if (isEnd) members.set(name ?? '', text.slice(start, at).trim())
      if (isEnd) name = undefined
      if (code !== COMMA) depth--
    }
  }
  return members
}

/** The elements of an array, each as it was written. Precondition: `text` is a JSON array. */
export function readElementTexts(text: string): string[] {
  const elements: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = stringEnd(text, at)
    } else if (code === 0x7b || code === 0x5b) {
      if (depth++ === 0) start = at + 1
    } else if (code === COMMA && depth === 1) {
      elements.push(text.slice(start, at).trim())
      start = at + 1
    } else if (code === 0x7d || code === 0x5d) {
      if (--depth > 0) continue
      const last = text.slice(start, at).trim()
      if (last !== '' || elements.length > 0) elements.push(last)
    }
  }
  return elements
}

/**
 * An object as JSON, and behind its own members others that are JSON already: their numbers keep
 * their digits.
 */
export function withMemberTexts(members: object, texts: Readonly<Record<string, string>>): string {
  const own = JSON.stringify(members).slice(1, -1)
  const more = Object.entries(texts).map(([name, text]) => `${JSON.stringify(name)}:${text}`)
  return `{${[...(own === '' ? [] : [own]), ...more].join(',')}}`
}

/** The position of the closing quote of the string that opens at `open`. */
export function stringEnd(text: string, open: number): number {
  let at = open + 1
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}
