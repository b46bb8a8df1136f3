/**
 * An input with a list of proposals, by the combobox pattern of WAI-ARIA: the focus stays in the
 * input, arrows go through the list, Enter takes one, Escape closes it.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'

const PROPOSE_MS = 80

export interface ComboboxOptions<T> {
  /** What to propose now; a failure proposes nothing. */
  readonly find: (signal: AbortSignal) => Promise<readonly T[]>
  readonly onTake: (one: T) => void
}

export function useCombobox<T>({ find, onTake }: ComboboxOptions<T>) {
  const shown = useSignal<readonly T[]>([])
  const chosen = useSignal(-1)
  const isOpen = useSignal(false)
  const asked = useRef<AbortController | undefined>(undefined)
  const listId = useId()
  const close = () => {
    asked.current?.abort()
    isOpen.value = false
    chosen.value = -1
  }
  const lookUp = () => {
    asked.current?.abort()
    const gone = new AbortController()
    asked.current = gone
    const show = (found: readonly T[]) => {
      if (gone.signal.aborted) return
      shown.value = found
      chosen.value = -1
      isOpen.value = true
    }
    const start = setTimeout(() => {
      // Without proposals one can type all the same.
      find(gone.signal).then(show, close)
    }, PROPOSE_MS)
    gone.signal.addEventListener('abort', () => clearTimeout(start))
  }
  useEffect(() => close, [])
  const take = (one: T) => {
    close()
    onTake(one)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const { length } = shown.value
    const picked = isOpen.value ? shown.value[chosen.value] : undefined
    if (event.key === 'Escape' && isOpen.value) close()
    else if (event.key === 'Enter' && picked !== undefined) take(picked)
    else if (event.key === 'ArrowDown' && !isOpen.value) lookUp()
    else if (event.key === 'ArrowDown') chosen.value = nextOf(chosen.value, 1, length)
    else if (event.key === 'ArrowUp' && isOpen.value)
      chosen.value = nextOf(chosen.value, -1, length)
    else return
    event.preventDefault()
    // A dialog around it stays open.
    event.stopPropagation()
  }
  const hasOptions = isOpen.value && shown.value.length > 0
  const input = {
    role: 'combobox' as const,
    'aria-autocomplete': 'list' as const,
    'aria-expanded': hasOptions,
    'aria-controls': hasOptions ? listId : undefined,
    'aria-activedescendant':
      hasOptions && chosen.value >= 0 ? `${listId}-${chosen.value}` : undefined,
    autocomplete: 'off' as const,
    spellcheck: false,
    onKeyDown,
    onBlur: close,
    onClick: lookUp,
  }
  return { input, listId, isOpen, shown, chosen, lookUp, take, close }
}

/** From none (-1) through the list, and around. */
function nextOf(chosen: number, step: number, length: number): number {
  return ((chosen + step + 1 + length + 1) % (length + 1)) - 1
}
