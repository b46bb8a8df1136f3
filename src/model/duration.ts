/** Durations as text, as retention is written: `90m`, `12h`, `30d`, `1y`. */

const SECOND_MS = 1_000
const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS
/** The longest duration that is accepted. */
export const DURATION_MS_MAX = 100 * YEAR_MS

/** Largest first: the canonical text uses the largest unit that divides. A year is 365 days. */
const UNITS = [
  ['y', YEAR_MS],
  ['w', 7 * DAY_MS],
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', SECOND_MS],
] as const

/** Milliseconds of a text like `30d`; undefined if invalid, not positive or over 100 years. */
export function tryParseDuration(text: string): number | undefined {
  const match = /^([1-9][0-9]{0,11})([smhdwy])$/.exec(text)
  const unit = UNITS.find(([name]) => name === match?.[2])
  if (match === null || unit === undefined) return undefined
  const ms = Number(match[1]) * unit[1]
  return ms <= DURATION_MS_MAX ? ms : undefined
}

/**
 * The canonical text of a whole number of seconds, in `ms`. Weeks are written in days, since people
 * say "30 days" or "90 days" of retention but not "2 weeks".
 */
export function formatDuration(ms: number): string {
  for (const [name, unitMs] of UNITS) {
    if (name !== 'w' && ms % unitMs === 0) return `${ms / unitMs}${name}`
  }
  return `${Math.ceil(ms / SECOND_MS)}s`
}
