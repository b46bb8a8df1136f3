/** Proposals while somebody types on, until the service has answered anew. */
import { foldName } from '../../src/model/match-names.ts'

/** What takes a place of the text, half-open. */
interface Placed {
  readonly label: string
  readonly start: number
  readonly end: number
}

/** Those that still fit the text as it is now, at their places in it. */
export function carried<T extends Placed>(
  proposals: readonly T[],
  before: string,
  now: string,
): readonly T[] {
  return proposals.flatMap((proposal) => {
    const { start, label } = proposal
    const behind = before.slice(proposal.end)
    const end = now.length - behind.length
    const isPlaced = now.startsWith(before.slice(0, start)) && now.endsWith(behind) && end >= start
    const isFit = isPlaced && foldName(label).includes(foldName(now.slice(start, end)))
    return isFit ? [{ ...proposal, end }] : []
  })
}
