/** Levels by word, colour and sign: colour alone must not tell. */
import {
  LEVEL_FIELDS,
  LEVELS,
  type Level,
  SEVERITY_NUMBER_FIELD,
  SEVERITY_NUMBERS_A_LEVEL,
  SPELLED_LEVELS,
} from '../../src/model/event-labels.ts'
import { jsonAt, jsonKind, jsonString, jsonText } from '../base/exact-json.ts'
import type { EventRecord } from './event.ts'

const bySpelling = new Map<string, Level>(SPELLED_LEVELS)
/** The worst first, as they lie in the histogram from the bottom up. */
export const LEVELS_SHOWN = [...LEVELS].reverse()
export const LEVEL_SIGNS: Readonly<Record<Level, string>> = {
  fatal: '✖',
  error: '●',
  warn: '▲',
  info: 'ℹ',
  debug: '◦',
  trace: '·',
}

/** As the service labels events: `_level`. */
export function levelOf({ payload }: EventRecord): Level | undefined {
  for (const path of LEVEL_FIELDS) {
    const value = jsonAt(payload, path)
    if (value === undefined) continue
    const kind = jsonKind(value)
    if (kind !== 'string' && kind !== 'number') continue
    const text = kind === 'string' ? jsonString(value) : jsonText(value)
    const level = bySpelling.get(text.toLowerCase())
    if (level !== undefined) return level
  }
  const severity = jsonAt(payload, SEVERITY_NUMBER_FIELD)
  const number = severity === undefined ? Number.NaN : Number(jsonText(severity))
  return LEVELS[Math.ceil(number / SEVERITY_NUMBERS_A_LEVEL) - 1]
}
