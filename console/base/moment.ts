/** Moments as the address says them: `now`, before that, or RFC 3339. */

export const DEFAULT_FROM = '-1h'

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Milliseconds since 1970 of `now`, `-15m` or RFC 3339; undefined for anything else. */
export function momentMs(text: string, nowMs: number = Date.now()): number | undefined {
  if (text === 'now') return nowMs
  const [, count, unit] = /^(?:now)?-(\d{1,9})([smhdw])$/.exec(text) ?? []
  if (count !== undefined) return nowMs - Number(count) * UNIT_MS[unit!]!
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}
