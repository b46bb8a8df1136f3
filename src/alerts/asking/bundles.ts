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

/** Into as many as one statement can ask for. Rules about one search are beside each other. */
function splitBundle(bundle: readonly Due[]): Due[][] {
  const parts: Due[][] = []
  let names = new Set<string>()
  let searches = new Set<string>()
  let chars = 0
  for (const due of bySearch(bundle).flat()) {
    const { query } = due.rule.settings
    const more = askedNames(due.rule.settings).filter((name) => !names.has(name))
    const moreChars = searches.has(query) ? 0 : query.length
    const isFull = names.size + more.length > AGGREGATES_MAX || chars + moreChars > SEARCH_CHARS_MAX
    if (parts.length === 0 || isFull) {
      parts.push([])
      ;[names, searches, chars] = [new Set(askedNames(due.rule.settings)), new Set(), 0]
    }
    for (const name of more) names.add(name)
    chars += searches.has(query) ? 0 : query.length
    searches.add(query)
    parts.at(-1)!.push(due)
  }
  return parts
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
