/** How many events an export is going to have: `about`, where more may come or part was counted. */
import { callJson } from '../base/api.ts'
import { formatEvents } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { type AnswerState, readState } from '../explore/answer-state.ts'
import { type Ask, readMembers, readPath } from '../explore/ask.ts'

export interface CountBefore {
  readonly text: string
  /** Undefined where it is not known. */
  readonly total: number | undefined
}

interface Counted {
  readonly total: number
  readonly state: AnswerState
  readonly as_of: string
}

export function useCountBefore(ask: Ask): CountBefore {
  const { value, failure } = useLoaded('', async (signal): Promise<Counted> => {
    const call = { method: 'POST', body: readMembers(ask), signal } as const
    const answer = await callJson<{ total: number; as_of: string }>(readPath(ask, 'query'), call)
    return { total: answer.total, as_of: answer.as_of, state: readState({ ...answer }) }
  })
  if (failure !== undefined) return { text: `not counted: ${failure}`, total: undefined }
  if (value === undefined) return { text: 'counting…', total: undefined }
  const word = countWord(ask.to, value)
  return { text: `${word}${formatEvents(value.total)}`, total: value.total }
}

/** Before the count: nothing where all of the range was counted, and it is over. */
export function countWord(to: string, { state, as_of: asOf }: Omit<Counted, 'total'>): string {
  if (!state.isComplete) return 'at least '
  // What stands in the address of a range up to now is no time.
  const isOver = Date.parse(to) <= Date.parse(asOf)
  return state.isSampled || !isOver ? 'about ' : ''
}
