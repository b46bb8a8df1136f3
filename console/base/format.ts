/** How numbers, sizes and times are written, everywhere alike. */

const COUNT = new Intl.NumberFormat('en-US')
const SHORT_COUNT = new Intl.NumberFormat('en-US', {
  notation: 'compact',
  maximumFractionDigits: 1,
})
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export function formatCount(count: number): string {
  return COUNT.format(count)
}

/** A figure of events, such as a count or an average. */
export function formatFigure(value: number | null): string {
  if (value === null) return '–'
  return Number.isInteger(value) ? formatCount(value) : value.toPrecision(4)
}

/** `1 event`, `2 events`. */
export function formatEvents(count: number): string {
  return formatOf(count, 'event')
}

/** `1 request refused`, `2 requests refused`; `thing` in the singular. */
export function formatOf(count: number, thing: string, rest = ''): string {
  return `${COUNT.format(count)} ${thing}${count === 1 ? '' : 's'}${rest}`
}

/** Where there is little room: `1.2M`. */
export function formatShortCount(count: number): string {
  return SHORT_COUNT.format(count)
}

export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1
  return `${value.toFixed(digits)} ${BYTE_UNITS[unit]}`
}

/** How long ago, in one unit; the times are in milliseconds since 1970. */
export function formatAgo(thenMs: number, nowMs: number = Date.now()): string {
  const seconds = Math.round((nowMs - thenMs) / 1_000)
  if (seconds < 5) return 'just now'
  if (seconds < 90) return `${seconds} s ago`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 36 * 3_600) return `${Math.round(seconds / 3_600)} h ago`
  return `${Math.round(seconds / 86_400)} d ago`
}

/** A duration in seconds, for what is late. */
export function formatSeconds(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  return `${Math.round(seconds / 60)} min`
}

/** A share from 0 to 1. */
export function formatShare(share: number): string {
  const percent = 100 * share
  if (percent > 0 && percent < 0.1) return '<0.1 %'
  return `${percent.toFixed(percent < 10 && percent > 0 ? 1 : 0)} %`
}
