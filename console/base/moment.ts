/** Moments as the address says them: `now`, before that, or RFC 3339. */

export const DEFAULT_FROM = '-1h'

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Years that are written with four digits, in any zone. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z')
const LAST_MS = Date.UTC(9_999, 0, 1)

/**
 * Milliseconds since 1970 of `now`, `-15m` or RFC 3339; undefined for anything else, and for what
 * lies thousands of years away.
 */
export function momentMs(text: string, nowMs: number = Date.now()): number | undefined {
  if (text === 'now') return nowMs
  const [, count, unit] = /^(?:now)?-(\d{1,9})([smhdw])$/.exec(text) ?? []
  const ms = count === undefined ? Date.parse(text) : nowMs - Number(count) * UNIT_MS[unit!]!
  return ms >= FIRST_MS && ms <= LAST_MS ? ms : undefined
}
