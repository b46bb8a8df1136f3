/** Counts by time and level, and the top values of fields, as the page asks for them. */
import { LEVELS_SHOWN } from '../events/level.ts'

/** By level; `none` is of events without one. */
export const LEVEL_KEYS = [...LEVELS_SHOWN, 'none'] as const
export type LevelKey = (typeof LEVEL_KEYS)[number]

export interface Bucket {
  readonly startMs: number
  readonly counts: Readonly<Partial<Record<LevelKey, number>>>
}

export function totalOf({ counts }: Bucket): number {
  return LEVEL_KEYS.reduce((sum, level) => sum + (counts[level] ?? 0), 0)
}
