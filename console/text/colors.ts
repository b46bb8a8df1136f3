/** Whether the colours of terminals in events are shown; kept by the browser, as the theme is. */
import { effect, signal } from '@preact/signals'
import { keep, readKept } from '../base/kept.ts'

const KEY = 'sluice.colors'

export const hasColors = signal(readKept(KEY) !== 'no')
effect(() => void keep(KEY, hasColors.value ? 'yes' : 'no'))
