/**
 * What is being typed at a position in a query, for input boxes. Never throws: when the text before
 * the position has a fault, only the last word counts.
 */

import { parseText } from './parse.ts'
import { QueryError } from './query-error.ts'
import { QueryReader } from './query-reader.ts'
import type { Field, PathField } from './query-tree.ts'

export interface Completion {
  /**
   * `clause`: a field, or a word to search for; `value`: a value of `field`; `operator`: AND, OR or
   * a comparison; `none`: nothing can be proposed, such as within quotes without a field.
   */
  readonly kind: 'clause' | 'value' | 'operator' | 'none'
  /** The text that a proposal replaces: UTF-16 code units from 0, half-open. */
  readonly start: number
  readonly end: number
  /** The part that was typed, without an opening quote. */
  readonly prefix: string
  readonly isQuoted: boolean
  /** The field that a value belongs to. */
  readonly field: Field | undefined
  /** The array whose element the clause is about; fields are then those of the element. */
  readonly element: PathField | undefined
}

export function complete(text: string, offset: number): Completion {
  const end = Math.max(0, Math.min(text.length, offset))
  const head = text.slice(0, end)
  const found = tryComplete(head, 0)
  if (found !== undefined) return found
  const lastSpace = /\s(?=\S*$)/u.exec(head.slice(-LOOK_BACK))
  const start = lastSpace === null ? 0 : end - head.slice(-LOOK_BACK).length + lastSpace.index + 1
  return tryComplete(head.slice(start), start) ?? nothing(end)
}

/** Longer names and values are not completed. */
const LOOK_BACK = 1_024

/** `shift` is where `head` begins in the whole text. */
function tryComplete(head: string, shift: number): Completion | undefined {
  const reader = readUpTo(head)
  if (reader === undefined) return undefined
  const { expected, item } = reader
  const isBehind = expected.kind === 'operator' && /[^\s)}\]"]$/u.test(head)
  const { kind, start, field, element } = isBehind ? item : expected
  const typed = head.slice(start)
  const place = { end: head.length + shift, field, element }
  if (kind === 'operator') {
    if (typed.trim() !== '' && !/^\s+\S{1,3}$/u.test(typed)) return undefined
    const prefix = typed.trim()
    const from = head.length - prefix.length + shift
    return { kind, start: from, prefix, isQuoted: false, ...place }
  }
  const isQuoted = typed.startsWith('"')
  const prefix = isQuoted ? typed.slice(1) : typed
  if (!isQuoted && /\s/u.test(prefix)) return undefined
  if (isQuoted && kind === 'clause') return nothing(head.length + shift)
  if (isQuoted && prefix.includes('"')) return undefined
  const found = kind === 'bound' ? 'value' : kind
  return { kind: found, start: start + shift, prefix, isQuoted, ...place }
}

/** A reader that has read `head` up to its end or its first fault. */
function readUpTo(head: string): QueryReader | undefined {
  let reader: QueryReader | undefined
  try {
    reader = new QueryReader(head)
    parseText(reader)
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
  }
  return reader
}

function nothing(at: number): Completion {
  const place = { start: at, end: at, prefix: '', isQuoted: false }
  return { kind: 'none', ...place, field: undefined, element: undefined }
}
