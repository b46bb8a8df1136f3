/**
 * How much of `labelled.tsv` a parser of user agents tells right: browsers and other programs by
 * family and major version, systems by family and version, bots by being called one.
 */
import { readFileSync } from 'node:fs'

export interface LabelledAgent {
  readonly text: string
  readonly family: string
  /** Leading digits of the version, or letters where it has none. */
  readonly major: string
  readonly system: string
  readonly systemVersion: string
  readonly isBot: boolean
}

export type Facts = Readonly<Record<string, string | undefined>>

export interface Score {
  readonly name: string
  readonly right: number
  readonly of: number
  /** The strings that are not told right. */
  readonly wrong: readonly string[]
}

const NOT_JUDGED = '?'
const NOTHING = '-'

export function readLabelledAgents(): LabelledAgent[] {
  // From `dist/`, where nothing but code is.
  const path = new URL('../../../bench/user-agents/labelled.tsv', import.meta.url)
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [text = '', family = '', major = '', system = '', systemVersion = '', kind] =
        line.split('\t')
      return { text, family, major, system, systemVersion, isBot: kind === 'bot' }
    })
}

export function scoreAgents(
  agents: readonly LabelledAgent[],
  parse: (text: string) => Facts,
): Score[] {
  const parsed = agents.map((label) => ({ label, facts: parse(label.text) }))
  const bots = parsed.filter(({ label }) => label.isBot)
  const others = parsed.filter(({ label }) => !label.isBot)
  type Parsed = (typeof parsed)[number]
  const count = (name: string, of: readonly Parsed[], isRight: (one: Parsed) => boolean): Score => {
    const wrong = of.filter((one) => !isRight(one)).map(({ label }) => label.text)
    return { name, right: of.length - wrong.length, of: of.length, wrong }
  }
  const isProgram = ({ label, facts }: Parsed) =>
    isSame(label.family, facts.browser_family) && isVersion(label.major, facts.browser_version)
  return [
    count('programs, family and major version', others, isProgram),
    count(
      'systems, family and version',
      others,
      ({ label, facts }) =>
        isSame(label.system, facts.os_family) && isVersion(label.systemVersion, facts.os_version),
    ),
    count('bots called bots', bots, ({ facts }) => facts.device_type === 'bot'),
    count('bots, name and major version', bots, isProgram),
    count('others not called bots', others, ({ facts }) => facts.device_type !== 'bot'),
  ]
}

function isSame(label: string, found: string | undefined): boolean {
  if (label === NOT_JUDGED) return true
  return label === NOTHING ? found === undefined : label === found
}

/** Whether `found` begins with the labelled parts. */
function isVersion(label: string, found: string | undefined): boolean {
  if (label === NOT_JUDGED) return true
  if (label === NOTHING || found === undefined) return label === NOTHING && found === undefined
  return found === label || found.startsWith(`${label}.`) || /^\d+/.exec(found)?.[0] === label
}
