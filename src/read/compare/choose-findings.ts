/**
 * Few findings of many candidates. Events are known by which of the candidates' conditions they
 * meet, as bits of a mask. Of candidates that are about the same events the first is told. One that
 * is no change any more without the events of those before it is a consequence of them.
 */

import type { EventKey } from '../../model/event-id.ts'
import type {
  BothCounts,
  CompareCondition,
  MaskCount,
} from '../../store/projection/reads/compare-task.ts'
import type { Candidate } from './candidate.ts'
import { type Change, judgeChange, type Scale, spreadOf } from './judge-change.ts'

/** Events of both that make two the same, by the events of either. */
const SAME_SHARE_MIN = 0.9
const EXAMPLES_MAX = 3

export interface Finding {
  readonly candidate: Candidate
  /** Exact. */
  readonly counts: BothCounts
  readonly change: Change
  /** About the same events. */
  readonly same: Candidate[]
  /** What changed because of these events. */
  readonly also: Candidate[]
  /** Values that all that is new of it has in common. */
  readonly within: readonly CompareCondition[]
  readonly examples: readonly EventKey[]
}

/** Events by the bits of their masks. */
export class MaskedEvents {
  readonly #groups: readonly MaskCount[]

  constructor(groups: readonly MaskCount[]) {
    this.#groups = groups
  }

  get all(): BothCounts {
    return this.count(0)
  }

  /** Those with all of `bits` and none of `without`. */
  count(bits: number, without = 0): BothCounts {
    const counts = { window: 0, baseline: 0 }
    for (const { mask, isWindow, count } of this.#groups) {
      if ((mask & bits) !== bits || (mask & without) !== 0) continue
      counts[isWindow ? 'window' : 'baseline'] += count
    }
    return counts
  }

  /** How unevenly those with the bit come in the first `slots` parts of the baseline. */
  spread(bit: number, slots: number): number {
    const counts: number[] = []
    const all: number[] = []
    for (const { mask, isWindow, slot, count } of this.#groups) {
      if (isWindow || slot >= slots) continue
      all[slot] = (all[slot] ?? 0) + count
      counts[slot] = (counts[slot] ?? 0) + ((mask & bit) === 0 ? 0 : count)
    }
    const known = Object.keys(all).map(Number)
    const ofKnown = (values: readonly number[]) => known.map((slot) => values[slot]!)
    return spreadOf(ofKnown(counts), ofKnown(all))
  }

  /** Of the window, or else of the baseline; from different parts of it where there are. */
  examples(bits: number, isWindow: boolean): EventKey[] {
    const lists = this.#groups
      .filter((group) => group.isWindow === isWindow && (group.mask & bits) === bits)
      .map((group) => group.examples)
    const inTurns = Array.from({ length: EXAMPLES_MAX }, (_, at) => {
      return lists.flatMap((list) => list[at] ?? [])
    })
    return inTurns.flat().slice(0, EXAMPLES_MAX)
  }
}

/** `bits[i]` is of candidate i, `spreads[i]` how much it varies anyway. The best is the first. */
export function chooseFindings(
  candidates: readonly Candidate[],
  bits: readonly number[],
  events: MaskedEvents,
  { scale, spreads }: { readonly scale: Scale; readonly spreads: readonly number[] },
): Finding[] {
  const judged = candidates.flatMap((candidate, at) => {
    const counts = events.count(bits[at]!)
    const spread = spreads[at]!
    const change = judgeChange(counts, scale, { others: candidate.others, spread })
    return change === undefined ? [] : [{ candidate, bit: bits[at]!, counts, change, spread }]
  })
  judged.sort((a, b) => telling(b) - telling(a))
  const kept: (Finding & { readonly bit: number })[] = []
  for (const { candidate, bit, counts, change, spread } of judged) {
    const same = kept.find((finding) => isSame(finding, { bit, change }, events))
    if (same !== undefined) {
      same.same.push(candidate)
      continue
    }
    const told = kept.reduce((all, finding) => all | finding.bit, 0)
    if (kept.length > 0 && !isChangeWithout({ bit, change, spread }, told, events, scale)) {
      mostShared(kept, bit, change.isMore, events).also.push(candidate)
      continue
    }
    const examples = events.examples(bit, change.isMore)
    kept.push({ candidate, counts, change, same: [], also: [], examples, within: [], bit })
  }
  return kept.map(({ bit: _, ...finding }) => finding)
}

/** Of what is about the same events, the first is what people understand most of. */
export function telling({ candidate, change }: Pick<Finding, 'candidate' | 'change'>): number {
  const { kind, field } = candidate
  const isShape = field.kind === 'system' && field.label === '_shape'
  const weight = (isShape ? 0.5 : kind === 'exists' ? 0.9 : 1) * (change.isMore ? 1 : 0.8)
  return change.score * weight
}

interface Judged {
  readonly bit: number
  readonly change: Change
}

function isSame(a: Judged, b: Judged, events: MaskedEvents): boolean {
  if (a.change.isMore !== b.change.isMore) return false
  const side = a.change.isMore ? 'window' : 'baseline'
  const both = events.count(a.bit | b.bit)[side]
  const either = events.count(a.bit)[side] + events.count(b.bit)[side] - both
  return both >= either * SAME_SHARE_MIN
}

/** Whether it is one among the events that meet none of the conditions `told`. */
function isChangeWithout(
  { bit, change, spread }: Judged & { readonly spread: number },
  told: number,
  events: MaskedEvents,
  scale: Scale,
): boolean {
  const rest = events.count(0, told)
  const counts = events.count(bit, told)
  const again = judgeChange(counts, { ...scale, events: rest }, { spread })
  return again?.isMore === change.isMore
}

function mostShared<T extends Judged>(
  kept: readonly T[],
  bit: number,
  isMore: boolean,
  events: MaskedEvents,
): T {
  const shared = (finding: T) => events.count(finding.bit | bit)[isMore ? 'window' : 'baseline']
  return kept.reduce((best, finding) => (shared(finding) > shared(best) ? finding : best))
}
