/**
 * Sends the third set through redaction. It was written without a look at the matcher or at the
 * other sets, so that it says what redaction does with events that nobody wrote it for.
 */
import { isDeepStrictEqual } from 'node:util'
import { Random } from '../../random.ts'
import { redactLines } from '../redact-lines.ts'
import { drawLeaks, drawPlain, type LeakSample } from './samples.ts'

export interface ThirdRecall {
  readonly name: string
  readonly samples: number
  readonly found: number
  /** Of the samples, those around whose secret everything stayed that has to. */
  readonly kept: number
  /** What was missed; how often and where, unless always. */
  readonly missed: readonly string[]
  /** The same for surroundings that were lost. */
  readonly lost: readonly string[]
}

export interface ThirdStayed {
  readonly name: string
  readonly samples: number
  /** Distinct names, values or lines. */
  readonly distinct: number
  /** What of them was changed. */
  readonly hits: readonly string[]
}

export interface ThirdReport {
  readonly classes: readonly ThirdRecall[]
  readonly recall: number
  readonly stayed: readonly ThirdStayed[]
}

/** Half a secret is still one: of a long core, no piece of this length may be left. */
const PIECE_CHARS = 8

export function measureThird(samplesEach: number, lines: readonly string[], seed = 1): ThirdReport {
  const random = new Random(seed)
  const classes = measureLeaks(drawLeaks(random, samplesEach))
  const samples = classes.reduce((sum, { samples }) => sum + samples, 0)
  const found = classes.reduce((sum, { found }) => sum + found, 0)
  return { classes, recall: found / samples, stayed: measurePlain(random, lines) }
}

function measureLeaks(leaks: readonly LeakSample[]): ThirdRecall[] {
  const out = redactLines(leaks.map(({ event }) => JSON.stringify(event)))
  const classes = new Map<string, { missed: FailureCounts; lost: FailureCounts }>()
  for (const [i, leak] of leaks.entries()) {
    const counts = classes.get(leak.kind) ?? {
      missed: new FailureCounts(),
      lost: new FailureCounts(),
    }
    classes.set(leak.kind, counts)
    counts.missed.add(leak, !isGone(leak.cores, out[i]!))
    counts.lost.add(leak, !isKept(leak, out[i]!))
  }
  return [...classes].map(([name, { missed, lost }]) => ({
    name,
    samples: missed.samples,
    found: missed.samples - missed.failures,
    kept: lost.samples - lost.failures,
    missed: missed.list(),
    lost: lost.list(),
  }))
}

/** How often each name failed, and in which of its places. */
class FailureCounts {
  samples = 0
  failures = 0
  readonly #names = new Map<string, { samples: number; failures: number; places: Set<string> }>()

  add({ name, place }: LeakSample, failed: boolean): void {
    const counts = this.#names.get(name) ?? { samples: 0, failures: 0, places: new Set() }
    this.#names.set(name, counts)
    this.samples++
    counts.samples++
    if (!failed) return
    this.failures++
    counts.failures++
    counts.places.add(place)
  }

  list(): string[] {
    const failed = [...this.#names].filter(([, { failures }]) => failures > 0)
    return failed.map(([name, { samples, failures, places }]) => {
      if (failures === samples) return name
      return `${name} (${failures} of ${samples}: ${[...places].join(', ')})`
    })
  }
}

function isGone(cores: readonly string[], out: string): boolean {
  return cores.every((core) => {
    if (core.length < 2 * PIECE_CHARS) return !out.includes(core)
    for (let at = 0; at + PIECE_CHARS <= core.length; at += PIECE_CHARS) {
      if (out.includes(core.slice(at, at + PIECE_CHARS))) return false
    }
    return true
  })
}

/** What has to stay by the sample's word, and each member of the root that holds no secret. */
function isKept({ event, cores, keeps }: LeakSample, out: string): boolean {
  if (!keeps.every((text) => out.includes(text))) return false
  const after = JSON.parse(out) as Readonly<Record<string, unknown>>
  return Object.entries(event).every(([key, value]) => {
    const text = JSON.stringify(value)
    return cores.some((core) => text.includes(core)) || isDeepStrictEqual(after[key], value)
  })
}

function measurePlain(random: Random, lines: readonly string[]): ThirdStayed[] {
  const plain = drawPlain(random, lines)
  const texts = plain.map(({ event }) => JSON.stringify(event))
  const out = redactLines(texts)
  const kinds = new Map<string, { samples: number; names: Set<string>; hits: Set<string> }>()
  for (const [i, { kind, name }] of plain.entries()) {
    const counts = kinds.get(kind) ?? { samples: 0, names: new Set(), hits: new Set() }
    kinds.set(kind, counts)
    counts.samples++
    counts.names.add(name)
    if (out[i] !== texts[i]) counts.hits.add(name)
  }
  return [...kinds].map(([name, { samples, names, hits }]) => {
    return { name, samples, distinct: names.size, hits: [...hits] }
  })
}
