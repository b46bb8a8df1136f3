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
