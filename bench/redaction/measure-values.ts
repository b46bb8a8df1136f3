/**
 * Precision and recall of the secret scanner: every format in every surrounding, plain and as JSON
 * with escapes, against look-alikes and lines of real logs.
 */
import { NO_SECRET, SECRET_KINDS, SecretScanner } from '../../workers/transform/secrets/secrets.ts'
import { Random } from '../random.ts'
import { drawText } from './generator.ts'
import { recallOf } from './measure-events.ts'
import { drawSecret, SURROUNDINGS, VALUE_LOOK_ALIKES, VALUE_SECRETS } from './sets.ts'

export interface FormatRecall {
  readonly name: string
  readonly samples: number
  readonly found: number
  /** A surrounding in which one was missed. */
  readonly missedIn: string | undefined
}

export interface RedactionReport {
  readonly formats: readonly FormatRecall[]
  readonly recall: number
  readonly lookAlikes: number
  /** Look-alikes and numbers of lines that were taken for secrets, with the kind. */
  readonly falseHits: readonly string[]
}

const scanner = new SecretScanner()

/** The kind of secret that `value` holds, in whatever way JSON spells it. */
export function scanValue(value: string, spell: (value: string) => string): string | undefined {
  const text = spell(value)
  const bytes = Buffer.from(`${text}"\n${'\0'.repeat(16)}`)
  const end = Buffer.byteLength(text)
  scanner.begin(bytes)
  const kind = text.includes('\\') ? scanner.scanEscaped(0, end) : scanner.scan(0, end)
  return kind === NO_SECRET ? undefined : SECRET_KINDS[kind]
}

export function spellPlain(value: string): string {
  return JSON.stringify(value).slice(1, -1)
}

/** Some characters as `\uXXXX`, slashes escaped: what other encoders write. */
export function spellEscaped(value: string): string {
  let index = 0
  return spellPlain(value).replace(/\\u[0-9a-f]{4}|\\.|\/|[A-Za-z0-9_]/g, (part) => {
    if (part.length > 1) return part
    if (part === '/') return '\\/'
    if (index++ % 5 !== 0) return part
    return `\\u${part.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

export function measureRecall(random: Random, samplesEach: number): FormatRecall[] {
  return [...VALUE_SECRETS.keys()].map((name) => {
    let samples = 0
    let found = 0
    let missedIn: string | undefined
    for (const surrounding of SURROUNDINGS) {
      for (const spell of [spellPlain, spellEscaped]) {
        for (let i = 0; i < samplesEach; i++) {
          const secret = drawSecret(random, name)
          const value = surrounding.replace('#', () => secret)
          samples++
          if (scanValue(value, spell) !== undefined) found++
          else missedIn = surrounding
        }
      }
    }
    return { name, samples, found, missedIn }
  })
}

export function measureReport(
  samplesEach: number,
  lines: readonly string[],
  seed = 1,
): RedactionReport {
  const random = new Random(seed)
  const formats = measureRecall(random, samplesEach)
  const falseHits: string[] = []
  let lookAlikes = 0
  for (const pattern of VALUE_LOOK_ALIKES) {
    for (let i = 0; i < samplesEach; i++) {
      for (const spell of [spellPlain, spellEscaped]) {
        lookAlikes++
        const kind = scanValue(drawText(random, pattern), spell)
        if (kind !== undefined) falseHits.push(`${pattern}: ${kind}`)
      }
    }
  }
  for (const [index, line] of lines.entries()) {
    lookAlikes++
    const kind = scanValue(line, spellPlain)
    if (kind !== undefined) falseHits.push(`line ${index + 1}: ${kind}`)
  }
  return { formats, recall: recallOf(formats), lookAlikes, falseHits }
}
