/** Whether the colours of terminals in events are shown; kept by the browser, as the theme is. */
import { effect, signal } from '@preact/signals'

const KEY = 'sluice.colors'

export const hasColors = signal(localStorage.getItem(KEY) !== 'no')
effect(() => localStorage.setItem(KEY, hasColors.value ? 'yes' : 'no'))
