/** Texts with places for what is drawn: `<A36>` stands for 36 characters of the alphabet `A`. */
import type { Random } from '../random.ts'

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const DIGITS = '0123456789'

const ALPHABETS: Readonly<Record<string, string>> = {
  A: LOWER + UPPER + DIGITS,
  B: `${LOWER}${UPPER}${DIGITS}+/`,
  C: UPPER + DIGITS,
  D: DIGITS,
  H: `${DIGITS}abcdef`,
  L: LOWER + DIGITS,
  /** Base32. */
  S: `${UPPER}234567`,
  U: `${LOWER}${UPPER}${DIGITS}-_`,
  W: `${LOWER}234567`,
  /** Base58. */
  K: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
  /** The last sextet of 64 bytes. */
  P: 'AQgw',
}

export function drawTemplate(random: Random, template: string): string {
  return template.replace(/<(\w)(\d+)>/g, (_, name: string, count: string) => {
    const alphabet = ALPHABETS[name]!
    let text = ''
    for (let i = 0; i < Number(count); i++) text += alphabet[random.below(alphabet.length)]
    return text
  })
}
