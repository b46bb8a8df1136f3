/**
 * Text for people's eyes, on a page and in a terminal. What would not be seen, would turn what is
 * beside it around, or would be obeyed by a terminal, is shown by its escape as in JSON: control
 * and format characters, line separators, surrogates without their pair. The zero-width joiners
 * stay: scripts and emoji are written with them.
 */
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/** For where lines and tabs may be: those stay. Of JSON's text it makes the same JSON. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, (found) => {
    let escaped = ''
    for (let at = 0; at < found.length; at++) {
      escaped += `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`
    }
    return escaped
  })
}

/** For names, and for whatever must stay on one line: also line ends and tabs by escapes. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t')
}

/**
 * A string that stands alone among values of other kinds, on one line: in quotes where it could be
 * taken for one of them, such as `"200"`, `"true"` or `""`.
 */
export function visibleString(text: string): string {
  return isMisleading(text) ? visibleText(JSON.stringify(text)) : visibleLine(text)
}

/** Like a number, or another kind of JSON, or nothing, or with ends that are not seen. */
const MISLEADING = /^(?:-?\d[\d.eE+-]*|true|false|null|-|\(no value\)|\(empty\)|)$|^["[{]|^\s|\s$/
const MISLEADING_CHARS_MAX = 1_000

export function isMisleading(text: string): boolean {
  return text.length <= MISLEADING_CHARS_MAX ? MISLEADING.test(text) : /^["[{\s]/.test(text)
}
