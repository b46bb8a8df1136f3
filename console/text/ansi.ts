/**
 * Colours of terminals in the text of events (ECMA-48, SGR), as names of the theme's own colours:
 * nothing of an event decides what is drawn but which of a few classes a piece of text has. What
 * would hide text is not obeyed: concealed text is seen, and a ground is a line below it, so that
 * contrast stays what the theme has.
 */

/** A piece of the text between sequences, half-open. */
export interface AnsiRun {
  readonly start: number
  readonly end: number
  /** Names of classes; empty for plain text. */
  readonly style: string
}

const HUES = ['quiet', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'plain'] as const
type Hue = (typeof HUES)[number]

interface Style {
  readonly color?: Hue | undefined
  readonly ground?: Hue | undefined
  readonly isBold?: boolean
  readonly isDim?: boolean
  readonly isItalic?: boolean
  readonly isUnderlined?: boolean
  readonly isInverse?: boolean
}

/** Colours and styles, and the erasing of a line's rest that `grep` writes beside them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with one.
const SEQUENCE = /\x1b\[([0-9;:]{0,64})([mK])/g
const ESCAPE = '\x1b'

/** The text without its sequences. What is no colour stays in it. */
export function ansiRuns(text: string): readonly AnsiRun[] {
  const runs: AnsiRun[] = []
  let style: Style = {}
  let at = 0
  const add = (end: number) => {
    if (end > at) runs.push({ start: at, end, style: classesOf(style) })
  }
  for (const found of text.includes(ESCAPE) ? text.matchAll(SEQUENCE) : []) {
    const [whole, codes = '', last] = found
    add(found.index)
    at = found.index + whole.length
    if (last === 'm') style = styled(style, codes.split(/[;:]/).map(Number))
  }
  add(text.length)
  return runs
}

const ATTRIBUTES: Readonly<Record<number, Style>> = {
  1: { isBold: true },
  2: { isDim: true },
  3: { isItalic: true },
  4: { isUnderlined: true },
  7: { isInverse: true },
  22: { isBold: false, isDim: false },
  23: { isItalic: false },
  24: { isUnderlined: false },
  27: { isInverse: false },
  39: { color: undefined },
  49: { ground: undefined },
}

function styled(before: Style, codes: readonly number[]): Style {
  let style = before
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at]!
    const tens = Math.floor(code / 10)
    if (code === 0) style = {}
    else if (code === 38 || code === 48) {
      const [hue, taken] = extended(codes.slice(at + 1, at + 5))
      style = { ...style, [code === 38 ? 'color' : 'ground']: hue }
      at += taken
    } else if ((tens === 3 || tens === 9) && code % 10 < 8) {
      style = { ...style, color: basic((code % 10) + (tens === 9 ? 8 : 0)) }
    } else if ((tens === 4 || tens === 10) && code % 10 < 8) {
      style = { ...style, ground: basic((code % 10) + (tens === 10 ? 8 : 0)) }
    } else style = { ...style, ...ATTRIBUTES[code] }
  }
  return style
}

/** Of the sixteen: black and white are the theme's own text, by day and by night. */
function basic(index: number): Hue {
  if (index === 0 || index === 15) return 'plain'
  return HUES[index % 8]!
}

/** `5;n` of 256 or `2;r;g;b`; and how many codes that takes. */
function extended([kind, ...rest]: readonly number[]): readonly [hue: Hue | undefined, number] {
  const [first = 0, second = 0, third = 0] = rest
  if (kind === 2) return [hueOf(first, second, third), 4]
  if (kind !== 5) return [undefined, 1]
  if (first < 16) return [basic(first), 2]
  if (first >= 232) return [first < 246 ? 'quiet' : 'plain', 2]
  const cube = first - 16
  return [hueOf(Math.floor(cube / 36) * 51, (Math.floor(cube / 6) % 6) * 51, (cube % 6) * 51), 2]
}

const GREY_WITHIN = 40

/** The nearest of the six hues; what has none is grey. */
function hueOf(red: number, green: number, blue: number): Hue {
  const most = Math.max(red, green, blue)
  const spread = most - Math.min(red, green, blue)
  if (!(spread > GREY_WITHIN)) return most > 64 && most < 170 ? 'quiet' : 'plain'
  const isHigh = (part: number) => part >= most - spread / 2
  const bits = (isHigh(red) ? 1 : 0) + (isHigh(green) ? 2 : 0) + (isHigh(blue) ? 4 : 0)
  return HUES[bits]!
}

function classesOf({ color, ground, ...style }: Style): string {
  const [front, back] = style.isInverse === true ? [ground, color ?? 'plain'] : [color, ground]
  return [
    front !== undefined && front !== 'plain' && `ansi-${front}`,
    back !== undefined && `ansi-on ansi-on-${back}`,
    style.isBold && 'ansi-bold',
    style.isDim && front === undefined && 'ansi-quiet',
    style.isItalic && 'ansi-italic',
    style.isUnderlined && 'ansi-under',
  ]
    .filter((name) => typeof name === 'string')
    .join(' ')
}
