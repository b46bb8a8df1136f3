/**
 * Which regular expressions a query may hold: the part of RE2's syntax that both ClickHouse's RE2
 * and the workers' engine accept, and that stays within their memory. Neither refuses what passes
 * here, so a query that parses also runs.
 */

/** Product of nested repetitions; RE2 refuses more. */
const REPEATS_MAX = 1_000
/** Estimated size of the program that a regular expression becomes. */
const SIZE_MAX = 20_000

/** General categories and scripts; longer lists would only be more to prove. */
const CATEGORIES = new RegExp(
  '^(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfo]?|Latin|Greek|Cyrillic|' +
    'Han|Hiragana|Katakana|Hangul|Arabic|Hebrew|Thai|Devanagari)$',
)
const POSIX = new RegExp(
  '^\\[:\\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|' +
    'xdigit):\\]',
)
const PUNCTUATION = /^[!-/:-@[-`{-~]$/
const UNICODE_SIZE = 400

export interface RegexFault {
  readonly problem: string
  readonly repair: string
}

/** Where a group began: what stood before it, and what it holds so far. */
interface Group {
  readonly sizeBefore: number
  readonly deepestBefore: number
}

/** What is wrong with `source`, if anything. */
export function findRegexFault(source: string): RegexFault | undefined {
  return new RegexReader(source).read()
}

class RegexReader {
  readonly #source: string
  #at = 0
  /** Size of the current group, and of its last atom, which a repetition multiplies. */
  #size = 0
  #atomSize = 0
  /** The largest product of repetitions in the group and in the last atom. */
  #deepest = 1
  #atomDeepest = 1
  #mayRepeat = false
  readonly #groups: Group[] = []
  #largest = 0

  constructor(source: string) {
    this.#source = source
  }

  read(): RegexFault | undefined {
    while (this.#at < this.#source.length) {
      const found = this.#step()
      if (found !== undefined) return found
      this.#largest = Math.max(this.#largest, this.#size)
      if (this.#largest > SIZE_MAX) return fault('it is too large', 'repeat less')
    }
    if (this.#groups.length > 0) return fault('missing `)`', 'close the group, or write `\\(`')
    return undefined
  }

  #step(): RegexFault | undefined {
    const char = this.#source[this.#at]!
    if (char === '(') return this.#open()
    if (char === ')') return this.#close()
    if (char === '[') return this.#class()
    if (char === '\\') return this.#escape()
    const repeat = /^(?:[*+?]|\{([0-9]+)(,([0-9]*))?\})\??/.exec(
      this.#source.slice(this.#at, this.#at + 16),
    )
    if (repeat !== null) return this.#repeat(repeat)
    this.#at++
    if (char === '|' || char === '^' || char === '$') {
      this.#mayRepeat = false
      return undefined
    }
    return this.#atom(char === '.' ? 10 : 4)
  }

  #atom(size: number): undefined {
    this.#size += size
    this.#atomSize = size
    this.#atomDeepest = 1
    this.#mayRepeat = true
  }

  #open(): RegexFault | undefined {
    const head = /^\((?:\?(?:[a-zA-Z-]*[:)]|P?<[A-Za-z_]\w*>|<?[=!]|[>#|]))?/.exec(
      this.#source.slice(this.#at, this.#at + 64),
    )![0]
    if (/[=!]$/.test(head)) {
      return fault(`RE2 has no ${head.includes('<') ? 'lookbehind' : 'lookahead'}`, TWO_CLAUSES)
    }
    if (/</.test(head)) return fault('groups have no names here', 'write `(…)`')
    if (this.#source[this.#at + 1] === '?' && !/^\(\?(?:[ims]+|[ims]*-[ims]+|)[:)]$/.test(head)) {
      return fault('RE2 has no such group', 'after `(?` write `:` or the flags i, m, s')
    }
    if (head === '(?)') return fault('`(?)` is not a group', 'write `(?:…)`')
    this.#at += head.length
    this.#mayRepeat = false
    if (head.endsWith(')')) return undefined
    this.#groups.push({ sizeBefore: this.#size, deepestBefore: this.#deepest })
    this.#size = 0
    this.#deepest = 1
    return undefined
  }

  #close(): RegexFault | undefined {
    const group = this.#groups.pop()
    if (group === undefined) return fault('`)` closes nothing', 'write `\\)` for the character')
    this.#at++
    this.#atomSize = this.#size + 2
    this.#size = group.sizeBefore + this.#atomSize
    this.#atomDeepest = this.#deepest
    this.#deepest = Math.max(group.deepestBefore, this.#deepest)
    this.#mayRepeat = true
    return undefined
  }

  #repeat(match: RegExpExecArray): RegexFault | undefined {
    const [text, low, comma, high] = match
    if (!this.#mayRepeat) {
      return fault(`\`${text}\` repeats nothing`, `write \`\\${text[0]}\` for the character`)
    }
    const most = Number(high === undefined || high === '' ? (low ?? 1) : high)
    if (most < Number(low ?? 0)) return fault(`\`${text}\` counts down`, 'swap its numbers')
    const times = this.#atomDeepest * Math.max(1, most)
    if (most > REPEATS_MAX || times > REPEATS_MAX) {
      return fault(`over ${REPEATS_MAX} repetitions`, 'use `*` or `+`')
    }
    const isOpen = comma !== undefined && high === ''
    this.#size += this.#atomSize * (Math.max(1, most) - 1 + (isOpen ? 1 : 0)) + 2
    this.#deepest = Math.max(this.#deepest, times)
    this.#at += text.length
    this.#mayRepeat = false
    return undefined
  }

  #escape(): RegexFault | undefined {
    const char = this.#source[this.#at + 1] ?? ''
    if (/[bBAz]/.test(char)) {
      this.#at += 2
      this.#mayRepeat = false
      return undefined
    }
    const size = this.#escapedCharacter()
    if (typeof size !== 'number') return size
    return this.#atom(size)
  }

  /** Reads an escape of a character or a class of characters; returns its size. */
  #escapedCharacter(): number | RegexFault {
    const char = this.#source[this.#at + 1] ?? ''
    if (/[dDsSwW]/.test(char)) return this.#take(2, /[DSW]/.test(char) ? 20 : 4)
    if (/[nrtfva]/.test(char) || PUNCTUATION.test(char)) return this.#take(2, 1)
    const rest = this.#source.slice(this.#at, this.#at + 24)
    const hex = /^\\x(?:[0-9A-Fa-f]{2}|\{([0-9A-Fa-f]{1,6})\})/.exec(rest)
    if (hex !== null && Number.parseInt(hex[1] ?? '0', 16) <= 0x10ffff) {
      return this.#take(hex[0].length, 4)
    }
    const category = /^\\[pP](?:\{\^?(\w+)\}|([A-Z]))/.exec(rest)
    if (category !== null && CATEGORIES.test(category[1] ?? category[2] ?? '')) {
      return this.#take(category[0].length, UNICODE_SIZE)
    }
    if (/[1-9k]/.test(char)) return fault('RE2 has no backreferences', TWO_CLAUSES)
    if (char === '') return fault('`\\` at its end escapes nothing', 'write `\\\\`')
    return fault(`RE2 has no \`\\${char}\` like this`, 'write the character without `\\`')
  }

  #take(length: number, size: number): number {
    this.#at += length
    return size
  }

  #class(): RegexFault | undefined {
    const start = this.#at
    this.#at += this.#source[start + 1] === '^' ? 2 : 1
    let size = this.#source[start + 1] === '^' ? 40 : 4
    for (let isFirst = true; ; isFirst = false) {
      const char = this.#source[this.#at]
      if (char === undefined) return fault('missing `]`', 'close the class, or write `\\[`')
      if (char === ']' && !isFirst) break
      const item = this.#classItem()
      if (typeof item !== 'number') return item
      size += item
    }
    this.#at++
    return this.#atom(size)
  }

  /** Reads a character, a class in the class, or a range; returns its size. */
  #classItem(): number | RegexFault {
    const posix = POSIX.exec(this.#source.slice(this.#at, this.#at + 16))
    if (posix !== null) return this.#take(posix[0].length, 8)
    if (this.#source.startsWith('[:', this.#at)) return fault('unknown `[:…:]`', 'write `\\[:`')
    const low = this.#classCharacter()
    if (typeof low !== 'object') return low
    const isRange = this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']'
    if ('problem' in low) return low
    if (!isRange || this.#at + 1 >= this.#source.length) return low.size
    this.#at++
    const high = this.#classCharacter()
    if (typeof high !== 'object') return BAD_RANGE
    if ('problem' in high) return high
    if (low.code === undefined || high.code === undefined || low.code > high.code) return BAD_RANGE
    return high.code > 0x7f ? UNICODE_SIZE : 4
  }

  #classCharacter(): { code: number | undefined; size: number } | RegexFault {
    const start = this.#at
    if (this.#source[start] !== '\\') {
      const code = this.#source.codePointAt(start)!
      return { code, size: this.#take(code > 0xffff ? 2 : 1, code > 0x7f ? 8 : 1) }
    }
    const size = this.#escapedCharacter()
    if (typeof size !== 'number') return size
    const text = this.#source.slice(start, this.#at)
    if (/^\\[dDsSwWpP]/.test(text)) return { code: undefined, size }
    return { code: escapedCode(text), size }
  }
}

const TWO_CLAUSES = 'write two clauses, joined by AND or AND NOT'
const BAD_RANGE = {
  problem: 'a range of characters that counts down, or is not a range',
  repair: 'write `\\-` for the character',
}

const CONTROL: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, a: 7 }

function escapedCode(text: string): number {
  const hex = /^\\x\{?([0-9A-Fa-f]+)/.exec(text)
  if (hex !== null) return Number.parseInt(hex[1]!, 16)
  return CONTROL[text[1]!] ?? text.charCodeAt(1)
}

function fault(problem: string, repair: string): RegexFault {
  return { problem, repair }
}
