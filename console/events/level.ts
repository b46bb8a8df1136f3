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

const levels = new WeakMap<EventRecord, Level | 'none'>()

/** As the service labels events: `_level`. */
export function levelOf(event: EventRecord): Level | undefined {
  const known = levels.get(event) ?? readEventLevel(event) ?? 'none'
  levels.set(event, known)
  return known === 'none' ? undefined : known
}

/** Error, or worse. */
export function isError(event: EventRecord): boolean {
  const level = levelOf(event)
  return level === 'error' || level === 'fatal'
}

/** The next row with an error behind `from`, or before it; undefined: there is none. */
export function errorAt(
  rows: readonly { readonly kind: string; readonly event?: EventRecord }[],
  from: number,
  step: 1 | -1,
): number | undefined {
  for (let at = from + step; at >= 0 && at < rows.length; at += step) {
    const { event } = rows[at]!
    if (event !== undefined && isError(event)) return at
  }
  return undefined
}

function readEventLevel({ payload, level }: EventRecord): Level | undefined {
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
