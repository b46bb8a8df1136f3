/**
 * Secrets in SQL, where a name and a string in apostrophes have nothing between them:
 * `ATTACH '…' (TOKEN '…')`, `CREATE SECRET (TYPE s3, SECRET '…')`, `IDENTIFIED BY '…'`,
 * `CREATE ROLE x PASSWORD '…'`. In prose too (`secret 'default/web' not found`), so that the
 * statement has to be one.
 */
import { DRAWN_NAME, isSecretName } from '../names/secret-names.ts'
import { isSecretText } from '../names/secret-values.ts'
import { isPlaceholderValue } from './value-placeholders.ts'

const STATEMENT = new RegExp(
  '\\b(?:attach|create|alter|options|copy|unload|credentials|secret|set|grant|identified|backup|' +
    'restore|select|insert|from|into|replication|master|connection)\\b',
  'i',
)
const IDENTIFIED = /\bidentified(?: with '?[\w-]+'?)? $/i
/** An account's statement, of which nothing but options follows. */
const ACCOUNT =
  /\b(?:create|alter) (?:or replace )?(?:user|role|login|group|user mapping|server|database)\b/i
const PASSWORD = /(?:passw(?:or)?d|passphrase|pwd)$/i
const VALUE = /^((?:[^'\\]|''|\\.)+)'/

/**
 * Whether a secret is in the apostrophes that are opened before `after`; `name` is the word before
 * them, `before` the text up to it. `isCall`: a bracket is between the two, `PASSWORD('…')`.
 */
export function isSqlSecret(before: string, name: string, after: string, isCall: boolean): boolean {
  const value = VALUE.exec(after)?.[1]
  if (value === undefined || isPlaceholderValue(value)) return false
  if (/^by$/i.test(name)) return IDENTIFIED.test(before)
  if (!isSecretName(name)) return false
  const isPassword = PASSWORD.test(name)
  if (isPassword && ACCOUNT.test(before)) return true
  if (!STATEMENT.test(before)) return false
  if (isCall) return isPassword
  if (!/[(,]\s*$/.test(before)) return false
  return isPassword || isSecretText(DRAWN_NAME, value)
}
