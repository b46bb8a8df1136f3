/**
 * What may come next in the query: fields and values as the service proposes them
 * (`GET …/complete`), operators by the language alone.
 */
import { complete } from '../../src/language/complete.ts'
import { callJson } from '../base/api.ts'
import { fieldNote } from '../base/catalog.ts'
import { formatCount } from '../base/format.ts'

export interface Proposal {
  readonly label: string
  readonly note: string
  readonly insert: string
  /** What it replaces, half-open. */
  readonly start: number
  readonly end: number
}

interface CompleteAnswer {
  readonly start: number
  readonly end: number
  readonly proposals: readonly {
    readonly text: string
    readonly kind: string
    readonly count?: number
    readonly types?: readonly string[]
    readonly share?: number
  }[]
}

const SHOWN_MAX = 12
const OPERATORS = ['AND', 'OR', 'NOT']

/** At the place `at` of the text. Rejects when the service does not answer. */
export async function propose(
  streamId: string | undefined,
  text: string,
  at: number,
  signal: AbortSignal,
): Promise<readonly Proposal[]> {
  const place = complete(text, at)
  if (place.kind === 'none') return []
  if (place.kind === 'operator') {
    const typed = place.prefix.toUpperCase()
    return OPERATORS.filter((word) => typed !== '' && word.startsWith(typed)).map((word) => ({
      label: word,
      note: '',
      insert: `${word} `,
      start: place.start,
      end: place.end,
    }))
  }
  const query = { query: text, at, streams: streamId }
  const answer = await callJson<CompleteAnswer>('complete', { query, signal })
  return answer.proposals.slice(0, SHOWN_MAX).map(({ text: label, kind, count, types, share }) => ({
    label,
    note: count === undefined ? fieldNote(types, share) || kind : formatCount(count),
    insert: label,
    start: answer.start,
    end: answer.end,
  }))
}
