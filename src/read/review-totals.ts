/** Adds up what the tasks of a review found. The number of paths is bounded, whatever they find. */
import { REVIEW_EVENT_IDS_MAX, REVIEW_PATHS_HELD_MAX, REVIEW_SAMPLES_MAX } from '../limits.ts'
import type {
  MaskedSample,
  ReviewCounts,
  ReviewedChange,
  ReviewedEvents,
} from '../model/redact/redaction.ts'

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

interface Total extends Omit<Mutable<ReviewedChange>, 'samples'> {
  /** Keyed by their JSON. */
  readonly samples: Map<string, MaskedSample>
}

export class ReviewTotals {
  readonly counts: Mutable<ReviewCounts> = {
    events: 0,
    matched: 0,
    changed: 0,
    undecided: 0,
    bytes: 0,
  }
  /** Values at paths that no row was kept for. */
  valuesLeft = 0
  readonly #totals = new Map<string, Total>()

  /** Results are added newest first. */
  add(reviewed: ReviewedEvents): void {
    const { counts } = this
    counts.events += reviewed.events
    counts.matched += reviewed.matched
    counts.changed += reviewed.changed
    counts.undecided += reviewed.undecided
    counts.bytes += reviewed.bytes
    this.valuesLeft += reviewed.valuesLeft
    for (const change of reviewed.changes) this.#addChange(change)
  }

  /** Those with the most values first. */
  get changes(): ReviewedChange[] {
    const all = [...this.#totals.values()].map((total) => {
      return { ...total, samples: [...total.samples.values()] }
    })
    return all.sort((a, b) => b.values - a.values || compareTexts(a.path, b.path))
  }

  #addChange(change: ReviewedChange): void {
    const key = `${change.reason} ${change.path}`
    const total = this.#totals.get(key)
    if (total !== undefined) {
      total.events += change.events
      total.values += change.values
      const ids = [...total.eventIds, ...change.eventIds]
      total.eventIds = ids.slice(0, REVIEW_EVENT_IDS_MAX)
      addSamples(total.samples, change.samples)
    } else if (this.#totals.size < REVIEW_PATHS_HELD_MAX) {
      const samples = new Map<string, MaskedSample>()
      addSamples(samples, change.samples)
      this.#totals.set(key, { ...change, samples })
    } else {
      this.valuesLeft += change.values
    }
  }
}

function addSamples(into: Map<string, MaskedSample>, samples: readonly MaskedSample[]): void {
  for (const sample of samples) {
    const key = JSON.stringify(sample)
    if (into.size < REVIEW_SAMPLES_MAX) into.set(key, sample)
  }
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
