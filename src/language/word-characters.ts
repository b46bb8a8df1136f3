/**
 * Which characters make words. By ranges of our own, not by anybody's tables of Unicode: the
 * engine, Node.js and browsers have different versions of these, and an index on disk was made with
 * one of them. A test compares the ranges with Unicode's categories.
 *
 * Past ASCII a character is a letter unless it is listed here: scripts that are not listed have
 * nothing but letters. Never change the ranges, because indexes on disk were made with them.
 */
import { isAlphanumeric } from './characters.ts'

/** Code points, both included. */
export type CodeRange = readonly [first: number, last: number]

/** Punctuation, symbols, spaces, marks of layout and of emoji, private use. */
export const SEPARATORS: readonly CodeRange[] = [
  [0x80, 0xa9],
  [0xab, 0xb1],
  [0xb4, 0xb4],
  [0xb6, 0xb8],
  [0xbb, 0xbb],
  [0xbf, 0xbf],
  [0xd7, 0xd7],
  [0xf7, 0xf7],
  [0x2c2, 0x2c5],
  [0x2d2, 0x2df],
  [0x37e, 0x37e],
  [0x384, 0x385],
  [0x387, 0x387],
  // Armenian, Hebrew, Arabic.
  [0x55a, 0x55f],
  [0x589, 0x58f],
  [0x5be, 0x5be],
  [0x5c0, 0x5c0],
  [0x5c3, 0x5c3],
  [0x5c6, 0x5c6],
  [0x5f3, 0x60f],
  [0x61b, 0x61f],
  [0x66a, 0x66d],
  [0x6d4, 0x6d4],
  // Indic, Thai, Tibetan, Myanmar, Ethiopic, Khmer.
  [0x964, 0x965],
  [0x970, 0x970],
  [0xe3f, 0xe3f],
  [0xe4f, 0xe4f],
  [0xe5a, 0xe5b],
  [0xf01, 0xf17],
  [0xf3a, 0xf3d],
  [0x104a, 0x104f],
  [0x1360, 0x1368],
  [0x1680, 0x1680],
  [0x17d4, 0x17d6],
  [0x17d8, 0x17db],
  [0x180e, 0x180e],
  // General punctuation, currencies, letterlike symbols; arrows to dingbats.
  [0x2000, 0x206f],
  [0x207a, 0x207e],
  [0x208a, 0x208e],
  [0x20a0, 0x214f],
  [0x2190, 0x2bff],
  [0x2e00, 0x2e7f],
  // East Asian punctuation and enclosed characters.
  [0x2ff0, 0x3004],
  [0x3008, 0x3020],
  [0x3030, 0x3030],
  [0x3036, 0x3037],
  [0x303d, 0x303f],
  [0x309b, 0x309c],
  [0x30a0, 0x30a0],
  [0x30fb, 0x30fb],
  [0x3190, 0x319f],
  [0x31c0, 0x31ef],
  [0x3200, 0x33ff],
  [0x4dc0, 0x4dff],
  [0xe000, 0xf8ff],
  // Forms of presentation, variants of emoji, the byte order mark, fullwidth punctuation.
  [0xfd3e, 0xfd4f],
  [0xfdfc, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xfeff, 0xff0f],
  [0xff1a, 0xff20],
  [0xff3b, 0xff40],
  [0xff5b, 0xff65],
  [0xffe0, 0xffff],
  // Music, games, emoji; tags, further variants, private use.
  [0x1d000, 0x1d37f],
  [0x1f000, 0x1fbef],
  [0x1fbfa, 0x1ffff],
  [0xe0000, 0x10ffff],
]

/** Letters of scripts that put no space between words, but for `SEPARATORS` among them. */
const SPACELESS_BLOCKS: readonly CodeRange[] = [
  // Thai, Lao, Tibetan, Myanmar, Khmer.
  [0xe01, 0xfff],
  [0x1000, 0x109f],
  [0x1780, 0x17ff],
  // Han, Hiragana, Katakana, Bopomofo.
  [0x2e80, 0x312f],
  [0x31a0, 0x31bf],
  [0x31f0, 0x31ff],
  [0x3400, 0x9fff],
  [0xa9e0, 0xa9ff],
  [0xaa60, 0xaa7f],
  [0xf900, 0xfaff],
  [0xff66, 0xff9f],
  [0x1aff0, 0x1b16f],
  [0x20000, 0x3ffff],
]

export const SPACELESS: readonly CodeRange[] = SPACELESS_BLOCKS.flatMap((block) => {
  return SEPARATORS.reduce<readonly CodeRange[]>(without, [block])
})

function without(ranges: readonly CodeRange[], [first, last]: CodeRange): readonly CodeRange[] {
  return ranges.flatMap(([low, high]): readonly CodeRange[] => {
    if (last < low || first > high) return [[low, high]]
    const parts: readonly CodeRange[] = [
      [low, first - 1],
      [last + 1, high],
    ]
    return parts.filter(([from, to]) => from <= to)
  })
}

/** A class of RE2's, without brackets, that has just these. */
export function classOf(ranges: readonly CodeRange[]): string {
  const hex = (code: number) => `\\x{${code.toString(16)}}`
  return ranges
    .map(([first, last]) => (first === last ? hex(first) : `${hex(first)}-${hex(last)}`))
    .join('')
}

/** Parts words. */
export const SEPARATOR = 0
/** Letters and digits of ASCII and of scripts with spaces between words. */
export const LETTER = 1
/** Letters of scripts without. */
export const LETTER_SPACELESS = 2

export type CharacterClass = typeof SEPARATOR | typeof LETTER | typeof LETTER_SPACELESS

/** Of the first 65,536 code points; filled when a text outside ASCII asks for the first time. */
let classes: Uint8Array | undefined

export function classOfCharacter(code: number): CharacterClass {
  if (code < 0x80) return isAlphanumeric(code) ? LETTER : SEPARATOR
  if (code > 0xffff) return lookUp(code)
  classes ??= Uint8Array.from({ length: 0x1_00_00 }, (_, each) => lookUp(each))
  return classes[code] as CharacterClass
}

function lookUp(code: number): CharacterClass {
  if (isIn(SEPARATORS, code)) return SEPARATOR
  return isIn(SPACELESS, code) ? LETTER_SPACELESS : LETTER
}

function isIn(ranges: readonly CodeRange[], code: number): boolean {
  let [low, high] = [0, ranges.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const [first, last] = ranges[middle]!
    if (code < first) high = middle
    else if (code > last) low = middle + 1
    else return true
  }
  return false
}
