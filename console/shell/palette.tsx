/** Ctrl+K: go anywhere and do anything by typing a few letters of it. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { CLOCK_NAMES, CLOCKS, clockParam } from '../base/clock.ts'
import { may } from '../base/rights.ts'
import { go, href, OF_ALL, route, SCREENS, setParams } from '../base/route.ts'
import { signOut } from '../base/sign-in.ts'
import { streams } from '../base/stream.ts'
import { streamAddress } from '../base/switch-stream.ts'
import { nextTheme } from '../base/theme.ts'
import { PRESETS } from '../base/time.ts'
import { Dialog } from '../parts/dialog.tsx'
import { share } from '../share/share.tsx'

interface Action {
  readonly label: string
  readonly run: () => void
}

const SHOWN_MAX = 12

export function Palette({ onClose }: { onClose: () => void }) {
  const text = useSignal('')
  const chosen = useSignal(0)
  const list = useRef<HTMLDivElement>(null)
  const found = actions()
    .filter(({ label }) => fits(label, text.value))
    .slice(0, SHOWN_MAX)
  useEffect(() => {
    list.current?.children[chosen.value]?.scrollIntoView({ block: 'nearest' })
  }, [chosen.value])
  const run = (action: Action | undefined) => {
    if (action === undefined) return
    onClose()
    action.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') run(found[chosen.value])
    else if (event.key === 'ArrowDown') chosen.value = Math.min(found.length - 1, chosen.value + 1)
    else if (event.key === 'ArrowUp') chosen.value = Math.max(0, chosen.value - 1)
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Go to, or do" onClose={onClose}>
      <input
        class="wide"
        aria-label="What to do"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen.value}`}
        autoFocus
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value
          chosen.value = 0
        }}
        onKeyDown={onKeyDown}
      />
      <div class="palette" id="palette-list" role="listbox" aria-label="Actions" ref={list}>
        {found.map((action, index) => (
          <div
            key={action.label}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen.value}
            onClick={() => run(action)}
            onKeyDown={onKeyDown}
          >
            {action.label}
          </div>
        ))}
        {found.length === 0 && <p class="quiet">Nothing is called that.</p>}
      </div>
    </Dialog>
  )
}

function actions(): Action[] {
  const { streamId, screen } = route.value
  const own = (streams.value ?? []).flatMap(({ id, name }) => [
    { label: `Look at ${name}`, run: () => go(streamAddress(id, 'explore')) },
    { label: `Settings and keys of ${name}`, run: () => go(href('streams', id)) },
  ])
  const ranges =
    screen === 'explore'
      ? [
          { label: 'Share: a link to what is shown', run: () => share() },
          ...PRESETS.map(([from, label]) => ({
            label: `Time: ${label}`,
            run: () => setParams({ from, to: undefined }),
          })),
          {
            label: 'Earlier searches',
            run: () => document.getElementById('history')?.click(),
          },
          ...CLOCKS.map((clock) => ({
            label: `Time: by ${CLOCK_NAMES[clock].toLowerCase()}`,
            run: () => setParams({ basis: clockParam(clock) }),
          })),
        ]
      : []
  return [
    ...SCREENS.filter((name) => name !== 'tokens' || may('admin')).map((name) => ({
      label: `Screen: ${name}`,
      run: () => go(href(name, OF_ALL.includes(name) ? undefined : streamId)),
    })),
    ...ranges,
    ...own,
    { label: 'Theme: light, dark, system', run: nextTheme },
    { label: 'Sign out', run: () => void signOut() },
    { label: 'Sign out everywhere: all browsers with this token', run: () => void signOut(true) },
  ]
}

/** Whether the letters of `typed` come in this order in `label`. */
function fits(label: string, typed: string): boolean {
  let at = 0
  const lower = label.toLowerCase()
  for (const letter of typed.toLowerCase().replaceAll(' ', '')) {
    at = lower.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}
