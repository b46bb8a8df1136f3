/** Light, dark, or what the system says. A preference of the person, so it outlives the tab. */
import { effect, signal } from '@preact/signals'

const KEY = 'sluice.theme'
const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

export const theme = signal<Theme>(
  THEMES.find((known) => known === localStorage.getItem(KEY)) ?? 'system',
)

effect(() => {
  localStorage.setItem(KEY, theme.value)
  if (theme.value === 'system') document.documentElement.removeAttribute('data-theme')
  else document.documentElement.setAttribute('data-theme', theme.value)
})

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!
}
