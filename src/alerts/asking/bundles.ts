/** Which due rules are asked together. */
import type { Stream } from '../../model/stream.ts'
import type { Rule } from '../../store/alerts/rule.ts'
import type { Memories } from '../decide-window.ts'
import { askedNames } from './joint-request.ts'

/** A rule with the windows to decide now. */
export interface Due {
  rule: Rule
  memories: Memories
  readonly ends: readonly number[]
  readonly streams: readonly Stream[]
  /** `questionOf` it, as text. */
  readonly question: string
}

/**
 * Of one statement: aggregates, and characters of searches. The engine takes more, but the text of
 * a statement grows with both, and what fails is asked again search by search.
 */
const AGGREGATES_MAX = 48
const SEARCH_CHARS_MAX = 8_192

/** Rules that ask about the same windows of the same streams; those that failed, by search. */
export function bundlesOf(due: readonly Due[]): Due[][] {
  const bundles = groupBy(due, ({ rule, streams, question, ends }) => {
    const streamIds = streams.map(({ streamId }) => streamId)
    const failed = rule.failures > 0 ? rule.settings.query : undefined
    return JSON.stringify([question, streamIds, ends[0], failed])
  })
  return bundles.flatMap(splitBundle)
}

export function bySearch(bundle: readonly Due[]): Due[][] {
  return groupBy(bundle, ({ rule }) => rule.settings.query)
}

/** Of one statement. */
interface Part {
  readonly names: Set<string>
  readonly searches: Set<string>
  readonly rules: Due[]
}

/** Into as many as one statement can ask for. Rules about one search are beside each other. */
function splitBundle(bundle: readonly Due[]): Due[][] {
  const parts: Part[] = []
  for (const due of bySearch(bundle).flat()) {
    const { settings } = due.rule
    const names = askedNames(settings)
    let part = parts.at(-1)
    if (part === undefined || !hasRoom(part, names, settings.query)) {
      part = { names: new Set(), searches: new Set(), rules: [] }
      parts.push(part)
    }
    for (const name of names) part.names.add(name)
    part.searches.add(settings.query)
    part.rules.push(due)
  }
  return parts.map(({ rules }) => rules)
}

function hasRoom({ names, searches }: Part, more: readonly string[], search: string): boolean {
  const all = [...new Set([...searches, search])]
  const chars = all.reduce((sum, { length }) => sum + length, 0)
  return new Set([...names, ...more]).size <= AGGREGATES_MAX && chars <= SEARCH_CHARS_MAX
}

function groupBy(all: readonly Due[], keyOf: (due: Due) => string): Due[][] {
  const groups = new Map<string, Due[]>()
  for (const due of all) {
    const key = keyOf(due)
    const known = groups.get(key)
    if (known === undefined) groups.set(key, [due])
    else known.push(due)
  }
  return [...groups.values()]
}
