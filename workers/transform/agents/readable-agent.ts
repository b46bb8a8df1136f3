/**
 * A user agent string as its sender wrote it: logs and proxies put quotes around it, spell its
 * blanks and slashes, or put its header's name before it. Bounded by the string, which is short;
 * most strings are given back after a look for four signs.
 */

/** Without one of these, and with a letter at both ends, nothing is spelled. */
const SIGNS = ['\\', '%', '+', '&'] as const
const PLAIN_ENDS = /^[A-Za-z].*[\w)]$/s
const HEADER = /^user[-_ ]?agent["']?\s*[:=]\s*/i
/** What is around a string, and not of it; brackets as Go prints lists. */
const AROUND = /[\s"'`,;\u00ab\u00bb\u2018-\u201d]/
const BACKSLASHES = /\\+(?:([/"'`();,: ])|x([2-7][0-9a-f])|u00([2-7][0-9a-f]))/gi
const ENTITIES = /&(?:#(\d{2,3})|#x([2-7][0-9a-f])|(quot|amp|lt|gt|apos));/gi
const NAMED_ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  amp: '&',
  lt: '<',
  gt: '>',
  apos: "'",
}
/** Blanks, slashes and brackets, of which every longer string has some. */
const PERCENTS = /%(?:25)?(?:20|2f|28|29|3b)/i
/** So often a string is encoded. */
const PERCENT_LEVELS_MAX = 3
/** `+` for a blank, as IIS and forms have it: beside brackets and semicolons, between words. */
const PLUS_FOR_BLANK =
  /\+(?:\(|%28)|(?:[;)]|%3b|%29)\+|^[A-Za-z][\w.-]*(?:\+[A-Za-z][\w.-]*)+(?:\/|$)/i
/** The plus before an address stays where a blank or bracket is before it. */
const BLANK = /\+(?!(?<=[+(]\+)(?:https?:|www\.))/g

export function readableAgent(sent: string): string {
  if (PLAIN_ENDS.test(sent) && !SIGNS.some((sign) => sent.includes(sign))) return named(sent)
  let text = sent
  if (text.includes('\\')) text = text.replace(BACKSLASHES, decodeBackslash)
  if (text.includes('&')) text = text.replace(ENTITIES, decodeEntity)
  text = trimmed(text)
  if (text.startsWith('[') && text.endsWith(']')) text = trimmed(text.slice(1, -1))
  text = named(text)
  const blank = text.indexOf(' ')
  if (blank >= 0) {
    // `My%20App/2.1 CFNetwork/…`: the name of an app, and never an address.
    return percentDecoded(text.slice(0, blank)) + text.slice(blank)
  }
  if (PLUS_FOR_BLANK.test(text)) text = text.replace(BLANK, ' ')
  return trimmed(percentDecoded(text))
}

function percentDecoded(encoded: string): string {
  let text = encoded
  for (let level = 0; level < PERCENT_LEVELS_MAX && PERCENTS.test(text); level++) {
    text = text.replace(/%([2-7][0-9a-f])/gi, (_, hex: string) => decodeHex(hex))
  }
  return text
}

/** By hand: an expression for the end would begin anew at each blank. */
function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && AROUND.test(text[start]!)) start++
  while (end > start && AROUND.test(text[end - 1]!)) end--
  return text.slice(start, end)
}

/** Without the name of the header. */
function named(text: string): string {
  return /^user/i.test(text) ? trimmed(text.replace(HEADER, '')) : text
}

function decodeBackslash(_: string, sign?: string, hex?: string, unicode?: string): string {
  return sign ?? decodeHex(hex ?? unicode ?? '20')
}

function decodeEntity(all: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return NAMED_ENTITIES[name.toLowerCase()] ?? all
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
  return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : all
}

function decodeHex(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16))
}
