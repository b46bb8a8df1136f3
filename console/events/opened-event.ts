/** What the parts of an open event know of it, and where one goes from a value of it. */
import { createContext } from 'preact'
import { format } from '../../src/language/format.ts'
import type { PathField, Query } from '../../src/language/query-tree.ts'
import { TRACE_PATHS } from '../../src/language/trace-fields.ts'
import { isServiceField } from '../../src/model/event-labels.ts'
import { clockParam } from '../base/clock.ts'
import { type JsonSpan, jsonKind, jsonString } from '../base/exact-json.ts'
import { href } from '../base/route.ts'
import { ask } from '../explore/ask.ts'
import { clauseFor, systemClause } from '../explore/filters.ts'
import type { Cells } from './cells.ts'
import { type EventRecord, timeOf } from './event.ts'

export interface OpenedEvent {
  readonly event: EventRecord
  readonly cells: Cells
}

export const OpenedContext = createContext<OpenedEvent | undefined>(undefined)

const AROUND_MS = 5 * 60_000
const LABELS = ['_trace_id', '_span_id'] as const

/**
 * The clause for the same value wherever events come from. What services name in their own ways,
 * a trace, a span and the service itself, is asked for by the label that stands for all of them.
 */
export function sameClause(field: PathField, value: JsonSpan): Query | undefined {
  const [path, ...inside] = field.parts
  const text = jsonKind(value) === 'string' ? jsonString(value) : ''
  if (path === undefined || inside.length > 0 || text === '') return clauseFor(field, value)
  const label = LABELS.find((name) => (TRACE_PATHS[name] as readonly string[]).includes(path))
  if (label !== undefined) return systemClause(label, text)
  return isServiceField(path) ? systemClause('_service', text) : clauseFor(field, value)
}

/** The address of what a clause finds in all streams, five minutes before and after the event. */
export function everywhere(clause: Query, event: EventRecord): string {
  const { clock } = ask.value
  const at = timeOf(event, clock)
  return href('explore', undefined, {
    q: format(clause),
    from: new Date(at - AROUND_MS).toISOString(),
    to: new Date(at + AROUND_MS).toISOString(),
    basis: clockParam(clock),
  })
}
