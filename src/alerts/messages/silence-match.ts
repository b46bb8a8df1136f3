/**
 * Which silences hold an alert back. Regular expressions are RE2's and run in linear time, and all
 * of a look have a bound: past it they match nothing. So an alert may be told in spite of a
 * silence, and none is silenced by too much work.
 */
import { RE2JS } from 're2js'
import { mainTurns } from '../../api/main-turns.ts'
import { malformed } from '../../errors.ts'
import { findRegexFault } from '../../language/regex-syntax.ts'
import { ALERT_REGEX_INSTRUCTIONS_MAX } from '../../limits.ts'
import type { Silence, SilenceMatcher } from '../../store/alerts/silence-store.ts'

type Labels = Readonly<Record<string, string>>

/** Characters times instructions of all expressions of a look, and of a turn of the main thread. */
export const SILENCE_STEPS_MAX = 64 * 1024 * 1024
const TURN_STEPS = 256 * 1024

/** Throws `malformed` for what is no expression, or becomes too large a program. */
export function assertMatchers(matchers: readonly SilenceMatcher[]): void {
  for (const [index, { value, is_regex: isRegex }] of matchers.entries()) {
    if (!isRegex) continue
    const fault = findRegexFault(value)
    if (fault !== undefined) {
      throw malformed(`"matchers[${index}].value": ${fault.problem}; ${fault.repair}`)
    }
    if (new Program(value).instructions > ALERT_REGEX_INSTRUCTIONS_MAX) {
      const limit = `${ALERT_REGEX_INSTRUCTIONS_MAX} (ALERT_REGEX_INSTRUCTIONS_MAX)`
      throw malformed(`"matchers[${index}].value" becomes over ${limit} instructions`)
    }
  }
  // A label that is missing is the empty text: such a silence would hold back everything.
  const matching = new SilenceMatching([])
  if (!matchers.every((matcher) => matching.isMatch(matcher, ''))) return
  throw malformed('"matchers" match alerts that have none of these labels: that would be all')
}

/** One look at alerts. */
export class SilenceMatching {
  readonly #silences: readonly Silence[]
  readonly #programs = new Map<string, Program>()
  /** Many alerts have a value in common. */
  readonly #known = new Map<string, boolean>()
  #steps = 0
  #turnSteps = 0

  constructor(silences: readonly Silence[]) {
    // What costs least is looked at first.
    this.#silences = silences.map((silence) => ({
      ...silence,
      matchers: silence.matchers.toSorted((a, b) => Number(a.is_regex) - Number(b.is_regex)),
    }))
  }

  /** Those that hold back an alert with these labels. */
  async of(labels: Labels): Promise<Silence[]> {
    const found: Silence[] = []
    for (const silence of this.#silences) {
      if (this.#turnSteps > TURN_STEPS) {
        this.#turnSteps = 0
        await mainTurns.next()
      }
      const isHeld = silence.matchers.every((matcher) => {
        return this.isMatch(matcher, labels[matcher.name] ?? '')
      })
      if (isHeld) found.push(silence)
    }
    return found
  }

  isMatch(matcher: SilenceMatcher, label: string): boolean {
    const { value, is_regex: isRegex, is_equal: isEqual } = matcher
    if (!isRegex) return (value === label) === isEqual
    const key = JSON.stringify([value, label])
    const isFound = this.#known.get(key) ?? this.#run(value, label)
    if (isFound === undefined) return false
    this.#known.set(key, isFound)
    return isFound === isEqual
  }

  /** Undefined: there was too much to do. */
  #run(source: string, label: string): boolean | undefined {
    const program = this.#programs.get(source) ?? new Program(source)
    this.#programs.set(source, program)
    const steps = program.instructions * (label.length + 1)
    if (this.#steps + steps > SILENCE_STEPS_MAX) return undefined
    this.#steps += steps
    this.#turnSteps += steps
    return program.isMatch(label)
  }
}

/** Of a whole value, as Alertmanager's; `.` is any character. */
class Program {
  readonly #compiled: RE2JS

  constructor(source: string) {
    this.#compiled = RE2JS.compile(`^(?:${source})$`, RE2JS.DOTALL)
  }

  get instructions(): number {
    return this.#compiled.re2().numberOfInstructions()
  }

  isMatch(text: string): boolean {
    return this.#compiled.test(text)
  }
}
