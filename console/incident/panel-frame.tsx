/** What panels have in common: what is asked, as a sentence that ends in a choice, and its answer. */
import type { ComponentChildren } from 'preact'
import { useLoaded } from '../base/loaded.ts'
import type { Ask } from '../explore/ask.ts'
import type { CountedAsk } from '../explore/counted.ts'
import { Failure } from '../parts/failure.tsx'

interface FrameProps<Choice extends string, Answer> {
  readonly counted: CountedAsk
  readonly label: string
  /** Before the choice. */
  readonly says: string
  readonly names: Readonly<Record<Choice, string>>
  readonly chosen: Choice
  readonly onChoose: (choice: Choice) => void
  readonly onClose: () => void
  readonly load: (ask: Ask, choice: Choice, signal: AbortSignal) => Promise<Answer>
  readonly show: (answer: Answer) => ComponentChildren
}

export function PanelFrame<Choice extends string, Answer>(props: FrameProps<Choice, Answer>) {
  const { counted, label, says, names, chosen, onChoose, onClose, load, show } = props
  const { ask, key, isAsked, ready } = counted
  const { value, failure, isStale } = useLoaded(
    `${label} ${key} ${chosen} ${isAsked}`,
    async (signal) => {
      if (!isAsked) return undefined
      await ready()
      return await load(ask, chosen, signal)
    },
  )
  const isShown = value !== undefined && !isStale
  return (
    <section class="groups card" aria-label={label}>
      <form class="inline">
        <label class="inline">
          {says}{' '}
          <select
            value={chosen}
            onChange={({ currentTarget }) => onChoose(currentTarget.value as Choice)}
          >
            {Object.entries<string>(names).map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {ask.isLive && isShown && <span class="quiet">Not followed while live: r asks again</span>}
        <span class="spring" />
        <button type="button" class="plain" aria-label={`Close: ${label}`} onClick={onClose}>
          ✕
        </button>
      </form>
      {failure !== undefined && <Failure text={failure} />}
      {failure === undefined && !isShown && isAsked && (
        <p class="quiet" role="status">
          Looking…
        </p>
      )}
      {failure === undefined && isShown && show(value)}
    </section>
  )
}
