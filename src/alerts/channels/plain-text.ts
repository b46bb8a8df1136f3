/** Texts of events and labels, which are anybody's, made fit for people to read. */

/** What moves a cursor, hides text or turns its direction; not tabs and line ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** At most so many UTF-16 code units, without half a character at the end. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text
  const whole = text.slice(0, Math.max(0, max - 1))
  const isHalf = /[\ud800-\udbff]$/.test(whole)
  return `${isHalf ? whole.slice(0, -1) : whole}…`.slice(0, max)
}

/** In one line. */
export function oneLine(text: string): string {
  return withoutHidden(text)
    .replace(/[\t\r\n\u2028\u2029]+/g, ' ')
    .trim()
}

export function withoutHidden(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(HIDDEN, '')
}

/** `text` escaped, and after that at most `max` long; never cut within an escape. */
export function escapeWithin(text: string, literal: (raw: string) => string, max: number): string {
  let raw = cutText(text, max)
  let escaped = literal(raw)
  while (escaped.length > max) {
    const fair = Math.floor((raw.length * max) / escaped.length)
    raw = cutText(text, Math.max(0, Math.min(raw.length - 1, fair)))
    escaped = literal(raw)
  }
  return escaped
}

const SECRET_CHARS_MIN = 4

/** What another service said, for people: short, in one line, and without what is secret. */
export function saidText(text: string, secrets: readonly (string | undefined)[], max = 200) {
  let told = text
  for (const secret of secrets) {
    if (secret === undefined || secret.length < SECRET_CHARS_MIN) continue
    for (const form of formsOf(secret)) told = told.replaceAll(form, '***')
  }
  return cutText(oneLine(told), max)
}

function formsOf(secret: string): string[] {
  return [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(withoutHalves(secret))]
}

/** Half characters cannot be written in URLs. */
function withoutHalves(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8')
}
