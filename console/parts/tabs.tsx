/** A row of tabs: one stop for Tab, the arrows go from one to the next. */

interface TabsProps<T extends string> {
  readonly label: string
  readonly tabs: readonly (readonly [name: T, label: string])[]
  readonly selected: T
  readonly onSelect: (name: T) => void
}

export function Tabs<T extends string>({ label, tabs, selected, onSelect }: TabsProps<T>) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    event.stopPropagation()
    const at = tabs.findIndex(([name]) => name === selected)
    const next = (at + step + tabs.length) % tabs.length
    onSelect(tabs[next]![0])
    const list = event.currentTarget as HTMLElement
    list.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map(([name, text]) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === selected}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {text}
        </button>
      ))}
    </div>
  )
}
