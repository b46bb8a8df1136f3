/**
 * The events on the screen: pages of the search while scrolling, or new events while live, on top.
 * What was jumped over is a row of its own, and is loaded from there.
 */
import { signal } from '@preact/signals'
import { ApiError, callText, failureText } from '../base/api.ts'
import { type EventAnswer, type EventRecord, readEvents } from '../events/event.ts'
import { type AnswerState, readState } from './answer-state.ts'
import { type Ask, readMembers, readPath } from './ask.ts'

const PAGE_EVENTS = 200
/** More are not kept: who has scrolled that far looks for something else. */
export const EVENTS_KEPT_MAX = 10_000

export interface Gap {
  /** The events that were not shown lie before (below) the one with this id. */
  readonly id: string
  readonly dropped: number
  /** False: there may be fewer. */
  readonly isExact: boolean
  readonly from: string | undefined
  readonly to: string | undefined
}

export type Row =
  | { readonly kind: 'event'; readonly event: EventRecord }
  | { readonly kind: 'gap'; readonly gap: Gap }
  /** The events from `from` on up to the next row are not loaded; undefined: all before it. */
  | { readonly kind: 'skip'; readonly from: string | undefined }

export interface EventList {
  readonly rows: readonly Row[]
  readonly isLoading: boolean
  /** The rows are of the ask before, until the first answer is there. */
  readonly isStale: boolean
  readonly failure: string | undefined
  /** Of the failure, as the service names it. */
  readonly code?: string | undefined
  readonly column: number | undefined
  readonly state: AnswerState | undefined
  /** Whether events are there behind the last row. */
  readonly hasMore: boolean
}

export const EMPTY_LIST: EventList = {
  rows: [],
  isLoading: false,
  isStale: false,
  failure: undefined,
  column: undefined,
  state: undefined,
  hasMore: false,
}

const NO_DETAILS = { code: undefined, column: undefined }

/** How many rows stay before what was jumped over, where there would be too many. */
const ROWS_BEFORE_JUMP = 1_000
const RETRY_MS = 1_000
const RETRY_MS_MAX = 15_000

/** The list of the newest ask; an older answer never wins. */
export class EventLoader {
  readonly list = signal<EventList>(EMPTY_LIST)
  #ask: Ask | undefined
  #next: string | undefined
  #gone = new AbortController()
  /** What came live since the first page was asked for: it may lack them. */
  #fresh: readonly Row[] = []
  #retryMs = RETRY_MS
  #retry: ReturnType<typeof setTimeout> | undefined

  /** Loads the first page; what is shown stays until then. While live it does not give up. */
  async start(ask: Ask): Promise<void> {
    // Rows of another question are no answer to this one, not even without a better one.
    const isSame = this.#ask !== undefined && keyOfAsk(this.#ask) === keyOfAsk(ask)
    if (!isSame && this.list.value.failure !== undefined) this.list.value = EMPTY_LIST
    this.#retryMs = RETRY_MS
    await this.#begin(ask, isSame)
  }

  /** The first page once more, as after a time when nothing came. */
  async reload(): Promise<void> {
    if (this.#ask !== undefined) await this.#begin(this.#ask, true)
  }

  /** Asks again for what failed. */
  async tryAgain(): Promise<void> {
    const { isStale, rows } = this.list.value
    if (isStale || rows.length === 0) return await this.reload()
    this.list.value = { ...this.list.value, failure: undefined, column: undefined }
    await this.loadMore()
  }

  /** Nothing is asked, and nothing shown. */
  clear(): void {
    this.stop()
    this.list.value = EMPTY_LIST
  }

  /** Resolves when the newest ask has its first answer, or after `waitMs`. */
  async settled(waitMs: number): Promise<void> {
    if (!this.list.value.isStale) return
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer)
        unsubscribe()
        resolve()
      }
      const timer = setTimeout(done, waitMs)
      const unsubscribe = this.list.subscribe((list) => {
        if (!list.isStale) queueMicrotask(done)
      })
    })
  }

  /** Loads the page after the last one, if there is one and nothing is under way. */
  async loadMore(): Promise<void> {
    const { isLoading, hasMore, rows, failure } = this.list.value
    if (isLoading || !hasMore || rows.length >= EVENTS_KEPT_MAX) return
    // It would fail with every frame that is drawn.
    if (failure !== undefined) return
    this.list.value = { ...this.list.value, isLoading: true }
    await this.#load('more')
  }

  /**
   * Goes on behind the last row up to an event that is wanted; `query` says which of all. What is
   * in between is jumped over, unless it is on the next page. Whether there is one. Never rejects.
   */
  async loadUntil(isWanted: (event: EventRecord) => boolean, query: string): Promise<boolean> {
    const before = this.list.value.rows.length
    const { signal } = this.#gone
    await this.#idle(signal)
    await this.loadMore()
    // Something else is asked by now.
    if (signal.aborted) return false
    const added = this.list.value.rows.slice(before)
    if (added.some((row) => row.kind === 'event' && isWanted(row.event))) return true
    const { hasMore, failure } = this.list.value
    if (!hasMore || failure !== undefined) return false
    this.list.value = { ...this.list.value, isLoading: true }
    try {
      const found = await this.#search({ query, limit: 1 }, this.#next, signal)
      const [event] = found.events
      const at = found.rest.previous
      if (event === undefined || typeof at !== 'string') {
        this.list.value = { ...this.list.value, isLoading: false, state: readState(found.rest) }
        return false
      }
      const { events, rest } = await this.#search({}, at, signal)
      this.#jump([event, ...events], rest)
      return true
    } catch (cause) {
      if (!signal.aborted) this.#fail(cause, this.list.value)
      return false
    }
  }

  #jump(events: readonly EventRecord[], rest: EventAnswer['rest']): void {
    const { rows } = this.list.value
    const isFull = rows.length + events.length >= EVENTS_KEPT_MAX
    const kept: readonly Row[] = isFull
      ? [{ kind: 'skip', from: undefined }, ...rows.slice(-ROWS_BEFORE_JUMP)]
      : rows
    const page = events.map((event) => ({ kind: 'event', event }) as const)
    const skip = { kind: 'skip', from: this.#next } as const
    this.#next = cursorOf(rest)
    this.list.value = {
      ...this.list.value,
      rows: [...kept, skip, ...page],
      isLoading: false,
      state: readState(rest),
      hasMore: this.#next !== undefined,
    }
  }

  /** Loads what was jumped over, in order; what is behind it comes again while scrolling. */
  async fill(from: string | undefined): Promise<void> {
    if (from === undefined) return await this.reload()
    const { rows } = this.list.value
    const at = rows.findIndex((row) => row.kind === 'skip' && row.from === from)
    if (at < 0) return
    this.stop()
    this.#next = from
    const list = { ...this.list.value, isLoading: false, failure: undefined, hasMore: true }
    this.list.value = { ...list, rows: rows.slice(0, at) }
    await this.loadMore()
  }

  /** Resolves when nothing is under way any more, or `gone` is aborted. */
  async #idle(gone: AbortSignal): Promise<void> {
    if (!this.list.value.isLoading) return
    await new Promise<void>((resolve) => {
      const unsubscribe = this.list.subscribe(({ isLoading }) => {
        if (!isLoading) queueMicrotask(done)
      })
      const done = () => {
        unsubscribe()
        resolve()
      }
      gone.addEventListener('abort', done)
    })
  }

  /** Live: puts rows, the newest first, on top of those that are there. */
  prepend(rows: readonly Row[]): void {
    const kept = this.list.value.rows
    this.#fresh = [...rows, ...this.#fresh].slice(0, EVENTS_KEPT_MAX)
    this.list.value = { ...this.list.value, rows: joined(rows, kept) }
  }

  stop(): void {
    this.#gone.abort()
    this.#gone = new AbortController()
    clearTimeout(this.#retry)
  }

  async #begin(ask: Ask, isSame: boolean): Promise<void> {
    this.stop()
    this.#ask = ask
    this.#next = undefined
    this.#fresh = []
    this.list.value = { ...this.list.value, isLoading: true, isStale: true }
    await this.#load(isSame ? 'again' : 'first')
  }

  async #load(which: 'first' | 'again' | 'more'): Promise<void> {
    const isFirst = which !== 'more'
    const { signal } = this.#gone
    const ask = this.#ask!
    try {
      const { events, rest } = await this.#search({}, this.#next, signal)
      if (signal.aborted) return
      const page = events.map((event) => ({ kind: 'event', event }) as const)
      this.#retryMs = RETRY_MS
      this.#next = cursorOf(rest)
      this.list.value = {
        rows: joined(isFirst ? this.#fresh : this.list.value.rows, page),
        isLoading: false,
        isStale: false,
        failure: undefined,
        column: undefined,
        state: readState(rest),
        hasMore: this.#next !== undefined,
      }
    } catch (cause) {
      if (signal.aborted) return
      const list = which === 'first' ? EMPTY_LIST : this.list.value
      this.#fail(cause, { ...list, isStale: which === 'again' })
      if (isFirst && ask.isLive) this.#tryLater()
    }
  }

  #fail(cause: unknown, list: EventList): void {
    const { code, column } = cause instanceof ApiError ? cause : NO_DETAILS
    this.list.value = { ...list, isLoading: false, failure: failureText(cause), code, column }
  }

  /** A page of what is asked, behind `cursor` in the order of the list. */
  async #search(
    members: { readonly query?: string; readonly limit?: number },
    cursor: string | undefined,
    signal: AbortSignal,
  ): Promise<EventAnswer> {
    const ask = this.#ask!
    const behind = ask.order === 'newest' ? 'before' : 'after'
    const text = await callText(readPath(ask, 'search'), {
      method: 'POST',
      body: {
        ...readMembers(ask),
        limit: PAGE_EVENTS,
        order: ask.order,
        ...members,
        ...(cursor !== undefined && { [behind]: cursor }),
      },
      signal,
    })
    return readEvents(text)
  }

  /** Who watches a live list does not press buttons. */
  #tryLater(): void {
    this.#retry = setTimeout(() => void this.reload(), this.#retryMs)
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX)
  }
}

function keyOfAsk({ streamId, query, from, to, clock, order }: Ask): string {
  return JSON.stringify([streamId, query, from, to, clock, order])
}

function cursorOf({ next }: EventAnswer['rest']): string | undefined {
  return typeof next === 'string' ? next : undefined
}

/** Newer rows on top of older ones; an event that is among both is there once. */
function joined(newer: readonly Row[], older: readonly Row[]): readonly Row[] {
  const known = new Set(older.flatMap((row) => (row.kind === 'event' ? [row.event.id] : [])))
  const added = newer.filter((row) => row.kind !== 'event' || !known.has(row.event.id))
  return [...added, ...older].slice(0, EVENTS_KEPT_MAX)
}
