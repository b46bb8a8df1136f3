/** What an `EventRedactor` would change in an event, change after change, each with its reason. */
import type { RedactionReason } from '../../../src/model/redact/redaction.ts'
import {
  REASON_DENYLISTED,
  REASON_LISTED,
  REASON_NONE,
  REASON_RAW,
  REASON_SECRET,
} from '../rewrite/edits.ts'
import { SECRET_KINDS } from '../secrets/secrets.ts'
import type { EventRedactor } from './redact-event.ts'

/**
 * Calls `visit` with the index of each edit that counts, in order. `start` is the start of the
 * event that `redactor` has walked last.
 */
export function forEachChange(
  { edits }: EventRedactor,
  start: number,
  visit: (edit: number) => void,
): void {
  let pos = start
  for (let i = 0; i < edits.count; i++) {
    if (edits.reason[i] === REASON_NONE || edits.start[i]! < pos) continue
    pos = edits.end[i]!
    visit(i)
  }
}

export function reasonName(reason: number): RedactionReason {
  if (reason === REASON_DENYLISTED) return 'denylisted_key'
  if (reason === REASON_LISTED) return 'redact_field'
  if (reason === REASON_RAW) return 'raw_cleared'
  return `secret_value:${SECRET_KINDS[reason - REASON_SECRET]!}`
}
