/**
 * Reads the patterns of `secret-table.ts`: the subset of JavaScript's regular expressions in which
 * each position follows from the one before, so that matching never backtracks.
 *
 *   literals, `\.`   classes `[A-Z2-7]`, `\w`, `\d`   counts `{36}` `{20,}` `{4,6}` `?` of classes
 *   `(?:a|b)` alternatives, of which each becomes a pattern   `(?<=…)` at the beginning: what
 *   precedes it, of classes with counts and literals
 *
 * The byte after a class of variable length must not be in that class; only the last class may have
 * no upper bound, or one before a sign that is not in it.
 */
import assert from 'node:assert/strict'

/** Bytes of a class without an upper bound that are looked at. */
const COUNT_MAX = 512

/** A literal, or `min` to `max` bytes of a class. */
export interface PatternStep {
  /** Empty for a class. */
  readonly literal: Uint8Array
  /** By byte: whether it is in the class; empty for a literal. */
  readonly members: Uint8Array
  /** Numbers the classes that hold different bytes, from 0. */
  readonly classIndex: number
  readonly min: number
  /** Infinity when nothing but the class ends it. */
  readonly max: number
}

export interface SecretPattern {
  readonly behind: readonly PatternStep[]
  readonly steps: readonly PatternStep[]
  /** How many bytes the literals are. */
  readonly literalBytes: number
}

/** Classes by the bytes that they hold. */
const classes = new Map<string, { readonly members: Uint8Array; readonly classIndex: number }>()
const NOTHING = new Uint8Array(0)
const NO_CLASS = { members: NOTHING, classIndex: -1, min: 0, max: 0 }
const TOKEN = /\\[wd]|\\.|\[(?:\\.|[^\]\\])*\]|[^\\[\](){}.?+*|^$]/y
const COUNT = /\{(\d+)(,(\d*))?\}|\?/y

export function parsePatterns(source: string): SecretPattern[] {
  return alternatives(source).map(parsePattern)
}

function alternatives(source: string): string[] {
  const group = /\(\?:([^()]*)\)/.exec(source)
  if (group === null) return [source]
  const [head, tail] = [source.slice(0, group.index), source.slice(group.index + group[0].length)]
  return group[1]!.split('|').flatMap((each) => alternatives(head + each + tail))
}

function parsePattern(source: string): SecretPattern {
  const lookbehind = /^\(\?<=([^()]*)\)/.exec(source)
  const behind = parseSteps(lookbehind?.[1] ?? '')
  const steps = parseSteps(source.slice(lookbehind?.[0].length ?? 0))
  const literals = [...behind, ...steps].map(({ literal }) => literal.length)
  return { behind, steps, literalBytes: literals.reduce((sum, length) => sum + length, 0) }
}

function parseSteps(source: string): PatternStep[] {
  const steps: PatternStep[] = []
  let literal = ''
  const endLiteral = () => {
    if (literal !== '') steps.push({ literal: Buffer.from(literal), ...NO_CLASS })
    literal = ''
  }
  let at = 0
  while (at < source.length) {
    const token = matchAt(TOKEN, source, at)
    assert(token !== undefined, `no pattern: ${source} at ${at}`)
    at += token[0].length
    const count = matchAt(COUNT, source, at)
    at += count?.[0].length ?? 0
    const isClass = token[0].startsWith('[') || /^\\[wd]$/.test(token[0])
    if (!isClass) {
      assert(count === undefined, `a count of a literal: ${source}`)
      literal += token[0].replace('\\', '')
      continue
    }
    endLiteral()
    steps.push({ literal: NOTHING, ...classOf(token[0]), ...parseCount(count) })
  }
  endLiteral()
  for (const [i, step] of steps.entries()) assertForward(step, steps[i + 1], source)
  return steps
}

function matchAt(expression: RegExp, source: string, at: number): RegExpExecArray | undefined {
  expression.lastIndex = at
  return expression.exec(source) ?? undefined
}

function parseCount(count: RegExpExecArray | undefined): { min: number; max: number } {
  if (count === undefined) return { min: 1, max: 1 }
  if (count[0] === '?') return { min: 0, max: 1 }
  const min = Number(count[1])
  const max = count[2] === undefined ? min : count[3] === '' ? COUNT_MAX : Number(count[3])
  assert(min <= max && max <= COUNT_MAX, `a count over ${COUNT_MAX}`)
  return { min, max: count[3] === '' ? Number.POSITIVE_INFINITY : max }
}

/** A class of changing length ends where the next step begins, without a look at what follows. */
function assertForward(step: PatternStep, next: PatternStep | undefined, source: string): void {
  if (step.literal.length > 0 || step.min === step.max || next === undefined) return
  const isSeparate = next.literal.length > 0 && step.members[next.literal[0]!] === 0
  assert(isSeparate, `a class that does not say where it ends: ${source}`)
}

function classOf(source: string) {
  const expression = new RegExp(source)
  const members = Uint8Array.from({ length: 256 }, (_, byte) =>
    byte < 128 && expression.test(String.fromCharCode(byte)) ? 1 : 0,
  )
  const identity = members.join('')
  const known = classes.get(identity)
  if (known !== undefined) return known
  const added = { members, classIndex: classes.size }
  classes.set(identity, added)
  return added
}

/** How many classes there are. */
export function classCount(): number {
  return classes.size
}

/** Bytes that a class without an upper bound is read for, at most. */
export function countMax({ min, max }: PatternStep): number {
  return max === Number.POSITIVE_INFINITY ? Math.max(min, COUNT_MAX) : max
}
