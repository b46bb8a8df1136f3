/** Sends events of a set through all of redaction: is a secret gone, and what must stay kept? */
import { isDeepStrictEqual } from 'node:util'
import { redactLines } from './redact-lines.ts'
import type { Leak, Plain } from './sets.ts'

export interface LeakReport {
  readonly kind: string
  readonly samples: number
  readonly found: number
  /** Of the samples, those around whose secret everything stayed that has to. */
  readonly kept: number
  /** What was missed; how often and where, unless always. */
  readonly missed: readonly string[]
  /** The same for surroundings that were lost. */
  readonly lost: readonly string[]
}

export interface PlainReport {
  readonly kind: string
  readonly samples: number
  /** Distinct names, values or lines. */
  readonly distinct: number
  /** What of them was changed. */
  readonly hits: readonly string[]
}

/** Half a secret is still one: of a long core, no piece of this length may be left. */
const PIECE_CHARS = 8

export function measureLeaks(leaks: readonly Leak[]): LeakReport[] {
  const out = redactLines(leaks.map(({ event }) => JSON.stringify(event)))
  const kinds = new Map<string, { missed: FailureCounts; lost: FailureCounts }>()
  for (const [i, leak] of leaks.entries()) {
    const counts = kinds.get(leak.kind) ?? {
      missed: new FailureCounts(),
      lost: new FailureCounts(),
    }
    kinds.set(leak.kind, counts)
    counts.missed.add(leak, !isGone(leak.cores, out[i]!))
    counts.lost.add(leak, !isKept(leak, out[i]!))
  }
  return [...kinds].map(([kind, { missed, lost }]) => ({
    kind,
    samples: missed.samples,
    found: missed.samples - missed.failures,
    kept: lost.samples - lost.failures,
    missed: missed.list(),
    lost: lost.list(),
  }))
}

/** The share that was found of all. */
export function recallOf(reports: readonly { samples: number; found: number }[]): number {
  const sum = (key: 'samples' | 'found') => reports.reduce((sum, report) => sum + report[key], 0)
  return sum('found') / sum('samples')
}

/** How often each name failed, and in which of its places. */
class FailureCounts {
  samples = 0
  failures = 0
  readonly #names = new Map<string, { samples: number; failures: number; places: Set<string> }>()

  add({ name, place }: Leak, failed: boolean): void {
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
function isKept({ event, cores, keeps }: Leak, out: string): boolean {
  if (!keeps.every((text) => out.includes(text))) return false
  const after = JSON.parse(out) as Readonly<Record<string, unknown>>
  return Object.entries(event).every(([key, value]) => {
    const text = JSON.stringify(value)
    return cores.some((core) => text.includes(core)) || isDeepStrictEqual(after[key], value)
  })
}

export function measurePlain(plain: readonly Plain[]): PlainReport[] {
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
  return [...kinds].map(([kind, { samples, names, hits }]) => {
    return { kind, samples, distinct: names.size, hits: [...hits] }
  })
}
