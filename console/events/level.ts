/** Levels by word, colour and sign: colour alone must not tell. */
import { LEVELS, type Level, readLevel } from '../../src/model/event-labels.ts'
import { jsonAt, jsonKind, jsonString, jsonText } from '../base/exact-json.ts'
import type { EventRecord } from './event.ts'

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
export function levelOf({ payload, level }: EventRecord): Level | undefined {
  const given = LEVELS.find((known) => known === level)
  if (given !== undefined) return given
  return readLevel((path) => {
    const value = jsonAt(payload, path)
    const kind = value && jsonKind(value)
    if (kind !== 'string' && kind !== 'number') return undefined
    const isNumber = kind === 'number'
    return { isNumber, text: isNumber ? jsonText(value!) : jsonString(value!) }
  })
}
