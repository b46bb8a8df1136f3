/**
 * The events of a stream before and after those that match, as grep's -A, -B and -C have lines.
 * Matches come in the order of the clock; what was shown is not shown again.
 */
import {
  compareEvents,
  compareTimed,
  type EventId,
  formatEventId,
  formatTimedId,
  type TimedId,
  tryParseEventId,
} from '../../model/event-id.ts'
import {
  formatTimeMs,
  RFC3339_MS_MAX,
  RFC3339_MS_MIN,
  tryParseRfc3339,
} from '../../model/rfc3339.ts'
import type { Client } from '../client.ts'
import type { Values } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import type { ShownEvent } from './event-output.ts'
import type { EventRecord, TimeBasis } from './event-values.ts'
import { jsonElements, jsonObject, jsonText, wholeJson } from './exact-json.ts'

/** The most events before or after a match. */
export const CONTEXT_EVENTS_MAX = 100
/** How far from a match its neighbours are looked for. */
const REACH_MS = 86_400_000

export const CONTEXT_OPTIONS = {
  after: { type: 'string', short: 'A' },
  before: { type: 'string', short: 'B' },
  context: { type: 'string', short: 'C' },
} as const
export const CONTEXT_HELP = {
  after: `So many events of the stream after each match; ${CONTEXT_EVENTS_MAX} at most`,
  before: 'So many before each match',
  context: 'So many before and after each match; both within a day of it',
} as const

export interface ContextSize {
  readonly before: number
  readonly after: number
}

/** Undefined when none is asked for. Throws `UsageError`. */
export function readContextSize(values: Values): ContextSize | undefined {
  const size = (name: keyof typeof CONTEXT_OPTIONS) => {
    const text = values[name] ?? values.context ?? '0'
    if (!/^\d{1,3}$/.test(String(text)) || Number(text) > CONTEXT_EVENTS_MAX) {
      throw new UsageError(`--${name} takes a number up to ${CONTEXT_EVENTS_MAX}`)
    }
    return Number(text)
  }
  const [before, after] = [size('before'), size('after')]
  return before + after === 0 ? undefined : { before, after }
}

type Place = EventId | TimedId

/** What is shown next. */
export interface ContextPart {
  /** Right behind what was shown before. */
  readonly rest: readonly ShownEvent[]
  /** Other events lie between those and these. */
  readonly isApart: boolean
  readonly events: readonly ShownEvent[]
  /** Why neighbours may be missing. */
  readonly shortfall: string | undefined
}

const NOTHING: ContextPart = { rest: [], isApart: false, events: [], shortfall: undefined }

interface Neighbours {
  readonly texts: readonly string[]
  readonly shortfall: string | undefined
}

export interface StreamContextOf {
  readonly client: Client
  readonly streamId: string
  readonly basis: TimeBasis
  readonly size: ContextSize
  /** For the API's `fields`. */
  readonly paths: readonly string[] | undefined
  /** Records name their stream. */
  readonly isSeveral: boolean
}

/** The context within one stream. */
export class StreamContext {
  readonly #of: StreamContextOf
  /** The last event that was shown, and how many of those behind it still are. */
  #last: { readonly text: string; readonly place: Place } | undefined
  #left = 0

  constructor(of: StreamContextOf) {
    this.#of = of
  }

  /** The rest of what follows the match before, then this one with what comes before it. */
  async match(text: string): Promise<ContextPart> {
    const { basis, size } = this.#of
    const place = placeOf(text, basis)
    const isShown = this.#last !== undefined && compare(place, this.#last.place) <= 0
    // As a neighbour; or it is late: another node's, or of the same moment.
    if (isShown) {
      this.#left = size.after
      return NOTHING
    }
    const { rest, shortfall } = await this.rest(place)
    // One more than is shown: so it is known whether something lies between.
    const found = await this.#ask(text, 'before', size.before + 1)
    const shown = this.#last?.place
    const isNew = (one: string) => {
      return shown === undefined || compare(placeOf(one, basis), shown) > 0
    }
    const isApart = shown === undefined || found.texts.every(isNew)
    const near = found.texts.slice(Math.max(0, found.texts.length - size.before)).filter(isNew)
    this.#last = { text, place }
    this.#left = size.after
    const events = [...near.map(besideMatch), { text, isMatch: true }]
    return { rest, isApart, events, shortfall: shortfall ?? found.shortfall }
  }

  /** What follows the last match, as far as it is there and still wanted, up to `end`. */
  async rest(end?: Place): Promise<ContextPart> {
    if (this.#last === undefined || this.#left === 0) return NOTHING
    const { basis } = this.#of
    const { texts, shortfall } = await this.#ask(this.#last.text, 'after', this.#left)
    const wanted = texts.filter((text) => {
      return end === undefined || compare(placeOf(text, basis), end) < 0
    })
    const last = wanted.at(-1)
    if (last !== undefined) {
      this.#last = { text: last, place: placeOf(last, basis) }
      this.#left -= wanted.length
    }
    return { ...NOTHING, rest: wanted.map(besideMatch), shortfall }
  }

  /** In the order of the clock. */
  async #ask(text: string, side: 'before' | 'after', limit: number): Promise<Neighbours> {
    const { client, streamId, basis, paths, isSeveral } = this.#of
    const place = placeOf(text, basis)
    const ms = timeMs(text, basis)
    const [from, to] = side === 'before' ? [ms - REACH_MS, ms + 1] : [ms, ms + REACH_MS]
    const body = {
      time_basis: basis,
      from: formatTimeMs(Math.max(from, RFC3339_MS_MIN)),
      to: formatTimeMs(Math.min(to, RFC3339_MS_MAX)),
      order: side === 'before' ? 'newest' : 'oldest',
      limit,
      [side]: 'timeNs' in place ? formatTimedId(place) : formatEventId(place),
      ...(paths !== undefined && { fields: paths }),
    }
    const answer = await client.text(`streams/${streamId}/search`, { body })
    const members = jsonObject(wholeJson(answer))
    const texts = [...jsonElements(members.get('events')!)].map((event) => {
      return isSeveral ? withStream(jsonText(event), streamId) : jsonText(event)
    })
    const reason = JSON.parse(jsonText(members.get('reason')!)) as string | null
    return {
      texts: side === 'before' ? texts.toReversed() : texts,
      shortfall: reason ?? undefined,
    }
  }
}

function besideMatch(text: string): ShownEvent {
  return { text, isMatch: false }
}

/** As a search over several streams writes it. */
export function withStream(text: string, streamId: string): string {
  return `{"_stream":${JSON.stringify(streamId)},${text.slice(1)}`
}

function timeMs(text: string, basis: TimeBasis): number {
  const record = JSON.parse(text) as EventRecord
  return Math.floor(Date.parse(record[basis]))
}

function placeOf(text: string, basis: TimeBasis): Place {
  const record = JSON.parse(text) as EventRecord
  const id = tryParseEventId(record.id)
  const timeNs = tryParseRfc3339(record.event_time)
  if (id === undefined || timeNs === undefined) throw new Error(`no event has the id ${record.id}`)
  return basis === 'event_time' ? { ...id, timeNs } : id
}

function compare(a: Place, b: Place): number {
  return 'timeNs' in a && 'timeNs' in b ? compareTimed(a, b) : compareEvents(a, b)
}
