/**
 * Sends the second set through the transforms as events and looks at what comes out: is anything
 * of a secret left, is anything else changed?
 */
import { Random } from '../../random.ts'
import { redactLines } from '../redact-lines.ts'
import { ORDINARY_MEMBERS, SECRET_KEYS } from './keys.ts'
import { ORDINARY_LINES, ORDINARY_MAKERS } from './ordinary.ts'
import { PLACES } from './places.ts'
import { FIELD_SECRETS } from './tokens.ts'

export interface FieldRecall {
  /** A format, or `denylisted keys`. */
  readonly name: string
  readonly samples: number
  readonly found: number
  /** Where samples were missed. */
  readonly missedIn: readonly string[]
}

export interface FieldReport {
  readonly formats: readonly FieldRecall[]
  readonly recall: number
  readonly ordinary: number
  /** What was changed without a reason. */
  readonly falseHits: readonly string[]
}

interface Sample {
  readonly name: string
  readonly place: string
  readonly line: string
  /** Must not be in the event that comes out. */
  readonly cores: readonly string[]
}

export function measureField(samplesEach: number, seed = 1): FieldReport {
  const random = new Random(seed)
  const samples = [...drawSecrets(random, samplesEach), ...drawKeys(random)]
  const out = redactLines(samples.map(({ line }) => line))
  const formats = new Map<string, { samples: number; found: number; missedIn: Set<string> }>()
  for (const [i, { name, place, cores }] of samples.entries()) {
    const format = formats.get(name) ?? { samples: 0, found: 0, missedIn: new Set() }
    formats.set(name, format)
    format.samples++
    if (cores.every((core) => !out[i]!.includes(core))) format.found++
    else format.missedIn.add(place)
  }
  const ordinary = drawOrdinary(random, samplesEach)
  const kept = redactLines(ordinary)
  const found = [...formats.values()].reduce((sum, format) => sum + format.found, 0)
  return {
    formats: [...formats].map(([name, { missedIn, ...counts }]) => ({
      name,
      ...counts,
      missedIn: [...missedIn],
    })),
    recall: found / samples.length,
    ordinary: ordinary.length,
    falseHits: ordinary.filter((line, i) => line !== kept[i]),
  }
}

/** Every format in every place it fits. */
function drawSecrets(random: Random, samplesEach: number): Sample[] {
  return FIELD_SECRETS.flatMap(({ name, kind, make }) =>
    PLACES.filter(({ kinds }) => kinds.includes(kind)).flatMap((place) =>
      Array.from({ length: samplesEach }, () => {
        const { text, core } = make(random)
        const line = JSON.stringify(place.event(text))
        return { name, place: place.name, line, cores: [core] }
      }),
    ),
  )
}

/** Every key with a value of each type under it, at the root and deeper. */
function drawKeys(random: Random): Sample[] {
  return SECRET_KEYS.flatMap((key) => {
    const core = `v${random.hex(12)}`
    const number = 1e9 + random.below(1e9)
    const values: [value: unknown, core: string][] = [
      [core, core],
      [number, String(number)],
      [{ value: core, n: number }, core],
      [[core, [number]], core],
    ]
    const events = values.flatMap(([value, inside]): [object, string][] => [
      [{ a: 1, [key]: value }, inside],
      [{ a: { b: [{ [key]: value }] } }, inside],
      [{ log: JSON.stringify({ [key]: value }) }, inside],
    ])
    return events.map(([event, inside]) => ({
      name: 'denylisted keys',
      place: key,
      line: JSON.stringify(event),
      cores: [inside],
    }))
  })
}

function drawOrdinary(random: Random, samplesEach: number): string[] {
  const drawn = Object.values(ORDINARY_MAKERS).flatMap((make) =>
    Array.from({ length: samplesEach }, () => make(random)),
  )
  const strings = [...ORDINARY_LINES, ...drawn]
  return [
    ...strings.flatMap((text) => [
      { message: text },
      { log: `INFO ${text}` },
      { items: [{ text: `"${text}"` }] },
      { nested: JSON.stringify({ a: { text } }) },
    ]),
    ...ORDINARY_MEMBERS.flatMap(([key, value]) => [{ [key]: value }, { a: [{ [key]: value }] }]),
  ].map((event) => JSON.stringify(event))
}
