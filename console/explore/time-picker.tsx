import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Clock } from '../base/clock.ts'
import { isTyping } from '../base/keys.ts'
import { setParams } from '../base/route.ts'
import {
  fromInputValue,
  momentMs,
  PRESETS,
  rangeLabel,
  toInputValue,
  zoneName,
} from '../base/time.ts'
import { ask } from './ask.ts'

const CLOCK_WORDS: Readonly<Record<Clock, string>> = {
  event_time: 'when events happened',
  ingested_at: 'when events were received',
}

/** Which time is looked at: presets up to now, or from and to. */
export function TimePicker() {
  const isOpen = useSignal(false)
  const ref = useRef<HTMLDivElement>(null)
  const { from, to, clock } = ask.value
  const toButton = () => ref.current?.querySelector<HTMLElement>('#time')?.focus()
  // Before the next key is handled: a person's next Tab may come at once.
  useLayoutEffect(() => {
    if (!isOpen.value) return
    const place = ref.current!
    const chosen = place.querySelector<HTMLElement>('.popover [aria-pressed=true]')
    const first = chosen ?? place.querySelector<HTMLElement>('.popover button')
    first?.focus()
    const close = (event: Event) => {
      const isKey = event instanceof KeyboardEvent
      if (isKey ? event.key === 'Escape' : !place.contains(event.target as Node)) {
        if (isKey) toButton()
        isOpen.value = false
      }
    }
    addEventListener('pointerdown', close)
    addEventListener('keydown', close)
    return () => {
      removeEventListener('pointerdown', close)
      removeEventListener('keydown', close)
    }
  }, [isOpen.value])
  const choose = (preset: string) => {
    toButton()
    isOpen.value = false
    setParams({ from: preset, to: undefined })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const [preset] = PRESETS[Number(event.key) - 1] ?? []
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
    if (preset === undefined || !isPlain || isTyping(event)) return
    event.preventDefault()
    choose(preset)
  }
  return (
    <div class="popover-place" ref={ref}>
      <button
        type="button"
        id="time"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        <span aria-hidden="true">{'◷ '}</span>
        {rangeLabel(from, to)}
      </button>
      {isOpen.value && (
        <div class="popover" role="dialog" aria-label="Time range" onKeyDown={onKeyDown}>
          <div class="preset-list">
            {PRESETS.map(([preset, label], index) => (
              <button
                key={preset}
                type="button"
                class="plain"
                aria-pressed={preset === from && to === 'now'}
                aria-keyshortcuts={`${index + 1}`}
                onClick={() => choose(preset)}
              >
                {label}{' '}
                <span class="key" aria-hidden="true">
                  {index + 1}
                </span>
              </button>
            ))}
          </div>
          <AbsoluteRange
            from={from}
            to={to}
            onChosen={() => {
              toButton()
              isOpen.value = false
            }}
          />
          <p class="hint">
            Of {CLOCK_WORDS[clock]}; times are in {zoneName()}. Both are changed beside this.
          </p>
        </div>
      )}
    </div>
  )
}

interface AbsoluteProps {
  readonly from: string
  readonly to: string
  readonly onChosen: () => void
}

function AbsoluteRange({ from, to, onChosen }: AbsoluteProps) {
  const start = useSignal(toInputValue(momentMs(from) ?? Date.now()))
  const end = useSignal(toInputValue(momentMs(to) ?? Date.now()))
  const apply = (event: Event) => {
    event.preventDefault()
    setParams({ from: fromInputValue(start.value), to: fromInputValue(end.value) })
    onChosen()
  }
  return (
    <form class="absolute" onSubmit={apply}>
      <label>
        From
        <input
          type="datetime-local"
          step="1"
          value={start.value}
          onInput={(event) => {
            start.value = event.currentTarget.value
          }}
        />
      </label>
      <label>
        To
        <input
          type="datetime-local"
          step="1"
          value={end.value}
          onInput={(event) => {
            end.value = event.currentTarget.value
          }}
        />
      </label>
      <button type="submit">Apply</button>
    </form>
  )
}
