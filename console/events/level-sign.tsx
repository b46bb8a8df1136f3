import type { EventRecord } from './event.ts'
import { LEVEL_SIGNS, levelOf } from './level.ts'

/** An event's level by sign, word and colour; the word goes where there is no room for it. */
export function LevelSign({ event }: { event: EventRecord }) {
  const level = levelOf(event)
  if (level === undefined) return null
  return (
    <span class={`level is-${level}`} title={level}>
      <span class="sign" aria-hidden="true">
        {LEVEL_SIGNS[level]}
      </span>{' '}
      <span class="word">{level}</span>
    </span>
  )
}
