/**
 * Sends names through redaction, each as the key of an event of its own. Every other name of a list
 * is held out: the rules were corrected by those of the other half alone.
 */
import { Random } from '../../random.ts'
import { redactLines } from '../redact-lines.ts'
import { PLAIN_NAMES } from './plain-names.ts'
import { HEADERS, PROPERTIES } from './secret-names.ts'
import { PLATFORMS, SETTINGS } from './setting-names.ts'

export interface NameRecall {
  readonly name: string
  readonly isHeldOut: boolean
  readonly samples: number
  readonly missed: readonly string[]
}

export interface NameReport {
  readonly kinds: readonly NameRecall[]
  /** Of names that are no secrets' those that were redacted, with their value. */
  readonly plain: number
  readonly hits: readonly string[]
}

const KINDS = {
  headers: HEADERS,
  properties: PROPERTIES,
  settings: SETTINGS,
  platforms: PLATFORMS,
}
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const VALUE_CHARS = 32

export function measureNames(seed = 1): NameReport {
  const random = new Random(seed)
  const kinds: NameRecall[] = []
  for (const [name, names] of Object.entries(KINDS)) {
    const distinct = [...new Set(names)]
    for (const isHeldOut of [false, true]) {
      const half = distinct.filter((_, i) => (i % 2 === 1) === isHeldOut)
      const texts = half.map((key) => JSON.stringify({ [key]: drawValue(random) }))
      const out = redactLines(texts)
      const missed = half.filter((_, i) => out[i] === texts[i])
      kinds.push({ name, isHeldOut, samples: half.length, missed })
    }
  }
  const plain = PLAIN_NAMES.flatMap(([names, value]) =>
    names.map((key) => JSON.stringify({ [key]: value })),
  )
  const out = redactLines(plain)
  return { kinds, plain: plain.length, hits: plain.filter((text, i) => out[i] !== text) }
}

/** Drawn at random and of no known form, so that only the name can say what it is. */
function drawValue(random: Random): string {
  return Array.from({ length: VALUE_CHARS }, () => ALPHABET[random.below(ALPHABET.length)]).join('')
}
