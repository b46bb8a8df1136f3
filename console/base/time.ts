/** Times: what the address says of a range, and how times are shown, in UTC or as here. */
import { effect, signal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { keep, readKept } from './kept.ts'
import { momentMs } from './moment.ts'

export { DEFAULT_FROM, momentMs } from './moment.ts'

const ZONE_KEY = 'sluice.zone'
export type Zone = 'local' | 'utc'

export const zone = signal<Zone>(readKept(ZONE_KEY) === 'utc' ? 'utc' : 'local')
effect(() => void keep(ZONE_KEY, zone.value))

/** Of the times that are shown: `UTC`, or the zone of this browser. */
export function zoneName(of: Zone = zone.value): string {
  return of === 'utc' ? 'UTC' : LOCAL_ZONE
}

const LOCAL_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone || 'local time'

export const PRESETS: readonly (readonly [from: string, label: string])[] = [
  ['-5m', 'Last 5 minutes'],
  ['-15m', 'Last 15 minutes'],
  ['-1h', 'Last hour'],
  ['-4h', 'Last 4 hours'],
  ['-24h', 'Last 24 hours'],
  ['-7d', 'Last 7 days'],
  ['-30d', 'Last 30 days'],
]

/** `2026-01-31 12:00:00.123` in the zone that was chosen. */
export function formatTime(ms: number, digits: 0 | 3 = 3): string {
  if (Number.isNaN(ms)) return '–'
  const shifted = zone.value === 'utc' ? ms : ms - new Date(ms).getTimezoneOffset() * 60_000
  const text = new Date(shifted).toISOString().replace('T', ' ')
  return text.slice(0, digits === 3 ? 23 : 19)
}

const TICKS_MAX = 6
const TICK_STEPS_MS = [
  1e3, 5e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1_800e3, 3_600e3, 7_200e3, 10_800e3,
  21_600e3, 43_200e3, 86_400e3, 172_800e3, 604_800e3, 1_209_600e3, 2_592_000e3, 7_776_000e3,
  31_536_000e3,
]

export interface Tick {
  readonly ms: number
  /** Of the range, from 0 to 1. */
  readonly share: number
  readonly text: string
}

/** Round times of a range, half-open, in the zone that was chosen; not at its very ends. */
export function ticksOf(startMs: number, endMs: number): readonly Tick[] {
  const span = endMs - startMs
  const step = TICK_STEPS_MS.find((ms) => span / ms <= TICKS_MAX) ?? span
  const shiftMs = zone.value === 'utc' ? 0 : new Date(startMs).getTimezoneOffset() * 60_000
  const ticks: Tick[] = []
  for (let ms = Math.ceil((startMs - shiftMs) / step) * step + shiftMs; ms < endMs; ms += step) {
    const share = (ms - startMs) / span
    if (share < 0.04 || share > 0.96) continue
    const text = formatTime(ms, 0)
    const isDay = step >= 86_400e3 || text.endsWith('00:00:00')
    ticks.push({
      ms,
      share,
      text: isDay ? text.slice(0, 10) : text.slice(11, step < 60e3 ? 19 : 16),
    })
  }
  return ticks
}

/** What the range of the address is called. */
export function rangeLabel(from: string, to: string): string {
  const preset = PRESETS.find(([known]) => known === from)
  if (preset !== undefined && to === 'now') return preset[1]
  return `${momentLabel(from)} – ${momentLabel(to)}`
}

function momentLabel(text: string): string {
  if (/^(now|-)/.test(text)) return oddMoment(text)
  const ms = momentMs(text)
  return ms === undefined ? oddMoment(text) : formatTime(ms, 0)
}

const ODD_CHARS_MAX = 40

/** As it stands in the address, where that is no time. */
function oddMoment(text: string): string {
  return visibleLine(text.length > ODD_CHARS_MAX ? `${text.slice(0, ODD_CHARS_MAX)}…` : text)
}

/** For an input of the type `datetime-local`, and back from it. */
export function toInputValue(ms: number): string {
  return formatTime(ms, 0).replace(' ', 'T')
}

export function fromInputValue(text: string): string | undefined {
  const ms = Date.parse(zone.value === 'utc' ? `${text}Z` : text)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
