/** What can be done with a column, below its name. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Params } from './columns.ts'

export interface MenuItem {
  readonly label: string
  /** How the key is shown that does the same without the menu. */
  readonly hint?: string
  readonly keys?: readonly string[]
  /** What it changes of the address; undefined: nothing. */
  readonly params: () => Params | undefined
}

interface MenuProps {
  readonly label: string
  readonly items: readonly MenuItem[]
  /** The name that it belongs to. */
  readonly under: () => HTMLElement | undefined
  readonly onPick: (params: Params | undefined) => void
  readonly onClose: () => void
}

export function ColumnMenu({ label, items, under, onPick, onClose }: MenuProps) {
  const ref = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const menu = ref.current!
    const name = under()
    const frame = menu.closest<HTMLElement>('.event-frame')
    if (name !== undefined && frame !== null) {
      const left = name.getBoundingClientRect().left - frame.getBoundingClientRect().left
      menu.style.left = `${Math.max(0, Math.min(left, frame.clientWidth - menu.offsetWidth))}px`
    }
    menu.querySelector('button')?.focus({ preventScroll: true })
    const onPointer = ({ target }: Event) => {
      const isInside = target instanceof Node && (menu.contains(target) || name?.contains(target))
      if (isInside !== true) onClose()
    }
    addEventListener('pointerdown', onPointer)
    return () => removeEventListener('pointerdown', onPointer)
  }, [])
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      const buttons = [...ref.current!.querySelectorAll('button')]
      const at = buttons.indexOf(event.target as HTMLButtonElement) + step
      buttons.at(at % buttons.length)?.focus({ preventScroll: true })
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault()
      onClose()
      under()?.focus()
    }
  }
  return (
    <div class="column-menu" role="menu" aria-label={label} ref={ref} onKeyDown={onKeyDown}>
      {items.map(({ label: text, hint, params }) => (
        <button
          key={text}
          type="button"
          class="plain"
          role="menuitem"
          tabIndex={-1}
          onClick={() => onPick(params())}
        >
          {text} {hint !== undefined && <kbd>{hint}</kbd>}
        </button>
      ))}
    </div>
  )
}
