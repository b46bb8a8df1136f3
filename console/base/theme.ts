/** Light, dark, or what the system says. A preference of the person, so it outlives the tab. */
import { effect, signal } from '@preact/signals'
import { keep, readKept } from './kept.ts'

const KEY = 'sluice.theme'
const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

export const theme = signal<Theme>(THEMES.find((known) => known === readKept(KEY)) ?? 'system')

const darkSystem = matchMedia('(prefers-color-scheme: dark)')
const isSystemDark = signal(darkSystem.matches)
darkSystem.addEventListener('change', ({ matches }) => {
  isSystemDark.value = matches
})

effect(() => void keep(KEY, theme.value))
effect(() => {
  const system = isSystemDark.value ? 'dark' : 'light'
  document.documentElement.dataset.theme = theme.value === 'system' ? system : theme.value
})

export function nextTheme(): void {
  theme.value = themeAfter(theme.value)
}

export function themeAfter(current: Theme): Theme {
  return THEMES[(THEMES.indexOf(current) + 1) % THEMES.length]!
}
