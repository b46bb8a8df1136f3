/**
 * Credentials in settings that a text shows: lines of configuration files (INI, properties, YAML,
 * TOML, HCL, environments), and names and values of which the value speaks for itself.
 */
import { DRAWN_NAME, judgeKnownName, SECRET_NAME } from '../names/secret-names.ts'
import { isSecretText } from '../names/secret-values.ts'
import { isPlaceholderValue } from './value-placeholders.ts'

const HARD_CHARS_MIN = 6
const VALUE_CHARS_MAX = 256
/** What may stand before the name on its line: quotes, a list's dash, what assigns in shells. */
const LINE_BEGIN =
  /^[ \t]*(?:[-+>] +)?(?:(?:export|set|setx|local|readonly|declare -x|ENV|env) +|\$env:)?["']?$/
/** The last signs of what `LINE_BEGIN` matches. */
const MAY_BEGIN = ' \t\r\n:"\''
/** The value and all that may follow it on its line: its quote, a comma, a comment. */
const LINE_VALUE = /^["']?([^\s"';,]+)["']?[;,]?[ \t]*(?:[#;][^\r\n]*|\/\/[^\r\n]*)?(?:$|[\r\n])/
/** Without a sign of another pair, so that pairs on end are read once each. */
const VALUE = /^["']?([^\s"'<>&;,=)}\]\\]+={0,2})(?!=)/
/** Two words or more: `client_secret`, `apiToken`; `token` alone is said of many things. */
const IS_JOINED = /[A-Za-z][._-][A-Za-z]|[a-z][A-Z]/
const PASSWORD = /(?:passw(?:or)?d|passphrase|pwd|pass|pw)$/i
/** Code, and what refers to a value elsewhere. */
const CODE = /[()[\]{}<>]|^[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+$/
/** A slash may begin what is drawn, and a path is not drawn. */
const PLACE = /^(?:[.~]|[A-Za-z]:\\|\w+:\/\/)/

/**
 * Whether `name` and what is `after` its sign, one character a byte, are a setting with a secret;
 * `before` is the text up to the name.
 */
export function isSetting(before: string, name: string, after: string): boolean {
  const isJoined = IS_JOINED.test(name)
  const isLine = before === '' || (MAY_BEGIN.includes(before.at(-1)!) && beginsLine(before))
  if (!isJoined && !isLine) return false
  const near = after.slice(0, VALUE_CHARS_MAX)
  const value = VALUE.exec(near)?.[1]
  if (value === undefined || value.length < HARD_CHARS_MIN || PLACE.test(value)) return false
  if (isPlaceholderValue(value) || CODE.test(value)) return false
  const isDrawn = isSecretText(DRAWN_NAME, value)
  if (isDrawn && isJoined && judgeKnownName(name) >= SECRET_NAME) return true
  if (!isLine || LINE_VALUE.exec(near)?.[1] !== value) return false
  return isDrawn || (PASSWORD.test(name) && isHardPassword(value))
}

/** Whether nothing but `LINE_BEGIN` is on a text's last line. */
function beginsLine(text: string): boolean {
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
  return LINE_BEGIN.test(end < 0 ? text : text.slice(end + 1))
}

/** What a password is, and a word of a sentence, a name in code or a time is not. */
export function isHardPassword(value: string): boolean {
  if (value.length < HARD_CHARS_MIN || /^(?:\/|[0-9.,:TZ+-]+$)/.test(value)) return false
  return /[A-Za-z]/.test(value) && /[0-9!@#$%^*+=?~|]/.test(value) && !CODE.test(value)
}
