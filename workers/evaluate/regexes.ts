/**
 * Regular expressions of queries: RE2's syntax and its linear time, by `re2js`; never V8's, which
 * can run practically for ever on some texts. The cost of a match still depends on the expression:
 * mostly one table look-up per character (a DFA); while that table grows, and where it would grow
 * too large, each character costs in proportion to the expression's length. Both count as work.
 *
 * `re2js` reports neither, so this reads the DFA inside it; its version is pinned exactly.
 */
import { RE2JS } from 're2js'
import { foldCase, withoutEscapes } from '../../src/language/words.ts'
import type { StringTest } from './string-test.ts'
import type { Work } from './work.ts'

/** Tables of regular expressions that a worker keeps, in bytes as their library counts them. */
export const MATCH_REGEX_BYTES_MAX = 32 * 1024 * 1024
/** Characters times instructions of a regular expression past which it does not search a text. */
export const MATCH_REGEX_TEXT_MAX = 64 * 1024 * 1024

const COMPILE_STEPS = 1_000_000
/** Of a text, and of each character of it, through the table. */
const TEXT_STEPS = 400
const CHARACTER_STEPS = 10
/** Of a new state of the table, and of a character without it, by instruction of the program. */
const STATE_STEPS = 200
const INSTRUCTION_STEPS = 30
/** Of what a large text shows whether the table has room for it. */
const PROBE_CHARS = 16 * 1024
/** Characters times instructions past which a text is not searched without the table. */
const WORST_FULL_MAX = MATCH_REGEX_TEXT_MAX / 4

/** What all regular expressions of a worker hold. Past the bound all of it is forgotten. */
export class RegexMemory {
  #used = 0
  readonly #held = new Set<Regex>()

  get used(): number {
    return this.#used
  }

  add(regex: Regex, bytes: number): void {
    this.#held.add(regex)
    this.#used += bytes
    if (this.#used <= MATCH_REGEX_BYTES_MAX) return
    for (const held of this.#held) held.forget()
    this.#held.clear()
    this.#used = 0
  }

  remove(regex: Regex, bytes: number): void {
    if (this.#held.delete(regex)) this.#used -= bytes
  }
}

/** The regular expressions of one query. */
export class Regexes {
  readonly #work: Work
  readonly #memory: RegexMemory
  readonly #all: Regex[] = []

  constructor(work: Work, memory: RegexMemory) {
    this.#work = work
    this.#memory = memory
  }

  /** RE2 finds it in the text; `.` is any character, as ClickHouse's `match` has it. */
  makeTest(source: string, ignoreCase: boolean): StringTest {
    const regex = this.#make(source, ignoreCase)
    return (bytes, start, end) => regex.test(bytes.toString('utf8', start, end))
  }

  /** The same of the text with its case folded, and with a space for each escape sequence. */
  makeFoldedTest(source: string): StringTest {
    const regex = this.#make(source, false)
    return (bytes, start, end) => {
      return regex.test(withoutEscapes(foldCase(bytes.toString('utf8', start, end))))
    }
  }

  /** Of a query that is not asked any more. */
  forget(): void {
    for (const regex of this.#all) regex.forget()
  }

  #make(source: string, ignoreCase: boolean): Regex {
    const regex = new Regex(source, ignoreCase, this.#work, this.#memory)
    this.#all.push(regex)
    return regex
  }
}

class Regex {
  readonly #source: string
  readonly #flags: number
  readonly #work: Work
  readonly #memory: RegexMemory
  #compiled: RE2JS | undefined
  #instructions = 0
  /** Of its table as of the last look. */
  #states = 0
  #bytes = 0
  /** The table could not hold all states. */
  #isFull = false

  constructor(source: string, ignoreCase: boolean, work: Work, memory: RegexMemory) {
    this.#source = source
    this.#flags = RE2JS.DOTALL | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
    this.#work = work
    this.#memory = memory
  }

  test(text: string): boolean {
    const compiled = this.#compiled ?? this.#compile()
    const worst = text.length * this.#instructions
    // One text must not take long either: nothing ends it under way.
    if (this.#bytes === 0 && worst > WORST_FULL_MAX) this.#count(compiled, probe(compiled, text))
    const isTooMuch = worst > (this.#isFull ? WORST_FULL_MAX : MATCH_REGEX_TEXT_MAX)
    const steps = TEXT_STEPS + CHARACTER_STEPS * text.length
    this.#work.spend(isTooMuch ? Number.POSITIVE_INFINITY : steps)
    const isFound = compiled.test(text)
    this.#count(compiled, worst)
    return isFound
  }

  forget(): void {
    this.#memory.remove(this, this.#bytes)
    this.#compiled = undefined
    this.#states = 0
    this.#bytes = 0
    this.#isFull = false
  }

  #compile(): RE2JS {
    this.#work.spend(COMPILE_STEPS)
    const compiled = RE2JS.compile(this.#source, this.#flags)
    this.#compiled = compiled
    this.#instructions = compiled.re2().numberOfInstructions()
    return compiled
  }

  /** Counts what the table grew by, and what was done without it. */
  #count(compiled: RE2JS, worst: number): void {
    const re2 = compiled.re2()
    const dfa = re2.lazyDFA
    if (dfa === null) return
    const { stateBudget, memBudget, stateCount } = dfa
    const bytes = stateBudget - memBudget
    if (bytes !== this.#bytes) {
      const grown = Math.abs(stateCount - this.#states)
      const more = bytes - this.#bytes
      this.#states = stateCount
      this.#bytes = bytes
      this.#memory.add(this, more)
      this.#work.spend(grown * this.#instructions * STATE_STEPS)
    }
    this.#isFull ||= memBudget < stateBudget / 8 || re2.machinePool.length > 0
    if (this.#isFull) this.#work.spend(worst * INSTRUCTION_STEPS)
  }
}

/** Searches the beginning of a text; returns what that is at its worst. */
function probe(compiled: RE2JS, text: string): number {
  const head = text.slice(0, PROBE_CHARS)
  compiled.test(head)
  return head.length * compiled.re2().numberOfInstructions()
}
