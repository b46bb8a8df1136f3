/**
 * The events on the screen: pages of the search while scrolling, or new events while live. The
 * newest is first.
 */
import { signal } from '@preact/signals'
import { ApiError, callText, failureText } from '../base/api.ts'
import { type EventRecord, readEvents } from '../events/event.ts'
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

export interface EventList {
  readonly rows: readonly Row[]
  readonly isLoading: boolean
  /** The rows are of the ask before, until the first answer is there. */
  readonly isStale: boolean
  readonly failure: string | undefined
  readonly column: number | undefined
  readonly state: AnswerState | undefined
  /** Whether older events are there that were not loaded. */
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

/** The list of the newest ask; an older answer never wins. */
export class EventLoader {
  readonly list = signal<EventList>(EMPTY_LIST)
  #ask: Ask | undefined
  #next: string | undefined
  #gone = new AbortController()

  /** Loads the first page; what is shown stays until it is there. */
  async start(ask: Ask): Promise<void> {
    this.stop()
    this.#ask = ask
    this.#next = undefined
    this.list.value = { ...this.list.value, isLoading: true, isStale: true }
    await this.#load(true)
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
    const { isLoading, hasMore, rows } = this.list.value
    if (isLoading || !hasMore || rows.length >= EVENTS_KEPT_MAX) return
    this.list.value = { ...this.list.value, isLoading: true }
    await this.#load(false)
  }

  /** Live: puts rows, the newest first, on top of those that are there. */
  prepend(rows: readonly Row[]): void {
    const kept = this.list.value.rows
    this.list.value = {
      ...this.list.value,
      rows: [...rows, ...kept].slice(0, EVENTS_KEPT_MAX),
    }
  }

  stop(): void {
    this.#gone.abort()
    this.#gone = new AbortController()
  }

  async #load(isFirst: boolean): Promise<void> {
    const { signal } = this.#gone
    const ask = this.#ask!
    try {
      const text = await callText(readPath(ask, 'search'), {
        method: 'POST',
        body: {
          ...readMembers(ask),
          limit: PAGE_EVENTS,
          ...(this.#next !== undefined && { before: this.#next }),
        },
        signal,
      })
      if (signal.aborted) return
      const { events, rest } = readEvents(text)
      const rows = events.map((event) => ({ kind: 'event', event }) as const)
      const kept = isFirst ? [] : this.list.value.rows
      this.#next = typeof rest.next === 'string' ? rest.next : undefined
      this.list.value = {
        rows: [...kept, ...rows],
        isLoading: false,
        isStale: false,
        failure: undefined,
        column: undefined,
        state: readState(rest),
        hasMore: this.#next !== undefined,
      }
    } catch (cause) {
      if (signal.aborted) return
      this.list.value = {
        ...(isFirst ? EMPTY_LIST : this.list.value),
        isLoading: false,
        isStale: false,
        failure: failureText(cause),
        column: cause instanceof ApiError ? cause.column : undefined,
      }
    }
  }
}
