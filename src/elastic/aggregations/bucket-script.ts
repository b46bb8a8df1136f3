/**
 * The arithmetic of a `bucket_script`: numbers, `params.name`, `+ - * / %`, brackets, comparisons
 * with `? :`, and a few functions. Nothing else is run.
 */
import { refused } from '../members.ts'

type Value = (variables: ReadonlyMap<string, number>) => number

const NUMBER = '([0-9]*\\.?[0-9]+(?:[eE][+-]?[0-9]+)?)[dDfFlL]?'
const NAME = '([A-Za-z_][A-Za-z0-9_.]*)'
const OPERATOR = '([<>=!]=|[-+*/%()?:<>,;])'
const TOKEN = new RegExp(`\\s*(?:${NUMBER}|${NAME}|${OPERATOR})`, 'y')
const SCRIPT_CHARS_MAX = 1_000
const LEVELS_MAX = 32
const FUNCTIONS: Readonly<Record<string, (...numbers: number[]) => number>> = {
  'Math.abs': Math.abs,
  'Math.min': Math.min,
  'Math.max': Math.max,
  'Math.round': Math.round,
  'Math.floor': Math.floor,
  'Math.ceil': Math.ceil,
  'Math.sqrt': Math.sqrt,
  'Math.pow': (a = Number.NaN, b = Number.NaN) => a ** b,
  'Math.log': Math.log,
  'Math.log10': Math.log10,
}
const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
}

/** Throws `malformed`; `variables` are those that it may name. */
export function readScript(text: string, where: string, variables: readonly string[]): Value {
  return new ScriptReader(text, where, new Set(variables)).read()
}

class ScriptReader {
  readonly #where: string
  readonly #variables: ReadonlySet<string>
  readonly #tokens: readonly string[]
  #at = 0
  #level = 0

  constructor(text: string, where: string, variables: ReadonlySet<string>) {
    this.#where = where
    this.#variables = variables
    if (text.length > SCRIPT_CHARS_MAX)
      throw refused(`${where}: over ${SCRIPT_CHARS_MAX} characters`)
    this.#tokens = this.#split(
      text
        .trim()
        .replace(/^return\s/, '')
        .replace(/\s*;$/, ''),
    )
  }

  read(): Value {
    const value = this.#choice()
    if (this.#at < this.#tokens.length) throw this.#fail()
    return value
  }

  #split(text: string): string[] {
    const tokens: string[] = []
    TOKEN.lastIndex = 0
    while (TOKEN.lastIndex < text.length) {
      const start = TOKEN.lastIndex
      const found = TOKEN.exec(text)
      if (found === null) throw refused(`${this.#where}: character ${start + 1} is not arithmetic`)
      tokens.push(found[1] ?? found[2] ?? found[3]!)
    }
    return tokens
  }

  #fail(): Error {
    const expected = 'numbers, params.name, + - * / %, ( ), comparisons with ? : and Math functions'
    return refused(`${this.#where} takes ${expected}; token ${this.#at + 1} is none of these here`)
  }

  #take(...some: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at]
    if (token === undefined || !some.includes(token)) return undefined
    this.#at++
    return token
  }

  #expect(token: string): void {
    if (this.#take(token) === undefined) throw this.#fail()
  }

  #choice(): Value {
    if (++this.#level > LEVELS_MAX) throw refused(`${this.#where}: over ${LEVELS_MAX} levels`)
    const left = this.#sum()
    const operator = this.#take(...Object.keys(COMPARISONS))
    this.#level--
    if (operator === undefined) return left
    const right = this.#sum()
    this.#expect('?')
    const [yes, , no] = [this.#choice(), this.#expect(':'), this.#choice()]
    const compare = COMPARISONS[operator]!
    return (of) => (compare(left(of), right(of)) ? yes(of) : no(of))
  }

  #sum(): Value {
    let left = this.#product()
    for (;;) {
      const operator = this.#take('+', '-')
      if (operator === undefined) return left
      const [a, b] = [left, this.#product()]
      left = operator === '+' ? (of) => a(of) + b(of) : (of) => a(of) - b(of)
    }
  }

  #product(): Value {
    let left = this.#signed()
    for (;;) {
      const operator = this.#take('*', '/', '%')
      if (operator === undefined) return left
      const [a, b] = [left, this.#signed()]
      if (operator === '*') left = (of) => a(of) * b(of)
      else left = operator === '/' ? (of) => a(of) / b(of) : (of) => a(of) % b(of)
    }
  }

  #signed(): Value {
    let isNegative = false
    for (let sign = this.#take('-', '+'); sign !== undefined; sign = this.#take('-', '+')) {
      if (sign === '-') isNegative = !isNegative
    }
    const value = this.#operand()
    return isNegative ? (of) => -value(of) : value
  }

  #operand(): Value {
    if (this.#take('(') !== undefined) {
      const inner = this.#choice()
      this.#expect(')')
      return inner
    }
    const token = this.#tokens[this.#at]
    if (token === undefined) throw this.#fail()
    if (/^[0-9.]/.test(token)) {
      this.#at++
      const number = Number(token)
      return () => number
    }
    const run = Object.hasOwn(FUNCTIONS, token) ? FUNCTIONS[token] : undefined
    if (run !== undefined) {
      this.#at++
      return this.#call(run)
    }
    const name = token.startsWith('params.') ? token.slice('params.'.length) : token
    if (!this.#variables.has(name)) throw this.#fail()
    this.#at++
    return (of) => of.get(name) ?? Number.NaN
  }

  #call(run: (...numbers: number[]) => number): Value {
    this.#expect('(')
    const values = [this.#choice()]
    while (this.#take(',') !== undefined) values.push(this.#choice())
    this.#expect(')')
    return (of) => run(...values.map((value) => value(of)))
  }
}
