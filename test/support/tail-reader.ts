/**
 * A reader of a live tail as a client writes one: server-sent events over `fetch`, which comes back
 * with the last id when the connection breaks. What it was told, and what it must add up to.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from '../../src/language/parse.ts'
import { TEXT_FIELDS_DEFAULT } from '../../src/model/text-fields.ts'
import { naiveMatches } from '../language/naive.ts'
import type { Api, EventRecord } from './api.ts'

export interface TailMessage {
  readonly event: string
  readonly id: string
  readonly data: string
}

export interface Gap {
  readonly dropped: number
  readonly exact: boolean
  readonly reason: string
  readonly from: string
  readonly to: string
}

export interface TailOptions {
  readonly query?: string
  readonly from?: string
  readonly limitPerS?: number
  readonly token?: string
  /** Waits for so long between pieces. */
  readonly restMs?: number
}

const BACK_OFF_MS = 50

export class TailReader {
  readonly events: EventRecord[] = []
  readonly gaps: Gap[] = []
  /** When each event came, on the clock of `performance`. */
  readonly times: number[] = []
  readonly statuses: number[] = []
  endReason: string | undefined
  connections = 0
  lastId = ''
  readonly query: string
  readonly #api: Api
  readonly #streamId: string
  readonly #options: TailOptions
  #abort = new AbortController()
  #isOn = true
  readonly #running: Promise<void>

  constructor(api: Api, streamId: string, options: TailOptions = {}) {
    this.#api = api
    this.#streamId = streamId
    this.#options = options
    this.query = options.query ?? ''
    this.#running = this.#run()
  }

  /** Breaks the connection; the reader comes back. */
  breakOff(): void {
    this.#abort.abort()
  }

  async stop(): Promise<void> {
    this.#isOn = false
    this.#abort.abort()
    await this.#running
  }

  /** Waits until it is connected. */
  async untilOpen(waitMs = 20_000): Promise<void> {
    await this.until(() => this.connections > 0, 'an open tail', waitMs)
  }

  async until(isTrue: () => boolean, what: string, waitMs = 20_000): Promise<void> {
    const deadline = performance.now() + waitMs
    while (!isTrue()) {
      if (performance.now() > deadline) {
        const state = { statuses: this.statuses, events: this.events.length, gaps: this.gaps }
        throw new Error(`waited ${waitMs} ms for ${what}: ${JSON.stringify(state).slice(0, 400)}`)
      }
      await sleep(5)
    }
  }

  /** Waits until nothing has come for a while. */
  async untilQuiet(quietMs = 1_500): Promise<void> {
    for (let before = -1; before !== this.events.length; ) {
      before = this.events.length
      await sleep(quietMs)
    }
  }

  async #run(): Promise<void> {
    while (this.#isOn && this.endReason === undefined) {
      this.#abort = new AbortController()
      try {
        await this.#read()
      } catch {
        await sleep(BACK_OFF_MS) // Broken off, or nobody there.
      }
    }
  }

  async #read(): Promise<void> {
    const { query, from, limitPerS, token = this.#api.token, restMs = 0 } = this.#options
    const parameters = new URLSearchParams({
      ...(query !== undefined && { query }),
      ...(from !== undefined && { from }),
      ...(limitPerS !== undefined && { limit_per_s: String(limitPerS) }),
    })
    const url = `${this.#api.url}/v1/streams/${this.#streamId}/tail?${parameters}`
    const response = await fetch(url, {
      headers: {
        authorization: `Bearer ${token}`,
        ...(this.lastId !== '' && { 'last-event-id': this.lastId }),
      },
      signal: this.#abort.signal,
    })
    this.statuses.push(response.status)
    if (response.status !== 200 || response.body === null) {
      await response.text()
      await sleep(BACK_OFF_MS)
      return
    }
    let text = ''
    const decoder = new TextDecoder()
    for await (const piece of response.body) {
      if (text === '') this.connections++
      text += decoder.decode(piece, { stream: true })
      const messages = text.split('\n\n')
      text = messages.pop() ?? ''
      for (const message of messages) this.#hear(message)
      if (text === '') text = ' '
      if (restMs > 0) await sleep(restMs)
    }
  }

  #hear(message: string): void {
    let event = 'message'
    const data: string[] = []
    for (const line of message.trimStart().split('\n')) {
      if (line.startsWith('id: ')) this.lastId = line.slice(4)
      else if (line.startsWith('event: ')) event = line.slice(7)
      else if (line.startsWith('data: ')) data.push(line.slice(6))
    }
    const text = data.join('\n')
    if (data.length === 0) return
    if (event === 'message') {
      this.events.push(JSON.parse(text) as EventRecord)
      this.times.push(performance.now())
    } else if (event === 'end') this.endReason = (JSON.parse(text) as { reason: string }).reason
    else this.gaps.push(JSON.parse(text) as Gap)
  }
}

/**
 * Each event of the list that the query is true for is in the tail once, or a gap covers it; and
 * nothing else is in the tail. `from`: events of before may be missing. Returns how many were in
 * the tail and how many only in gaps.
 */
export function assertCovers(
  reader: TailReader,
  list: readonly EventRecord[],
  { after = '' } = {},
): { readonly seen: number; readonly inGaps: number } {
  const query = parse(reader.query)
  const seen = new Map<string, EventRecord>()
  for (const event of reader.events) {
    assert.ok(!seen.has(event.id), `${event.id} came twice`)
    seen.set(event.id, event)
  }
  const gaps = reader.gaps.map(({ from, to }) => [Date.parse(from), Date.parse(to)] as const)
  const missing: string[] = []
  let found = 0
  let inGaps = 0
  for (const event of list) {
    const isMatch = naiveMatches(query, naiveOf(event), TEXT_FIELDS_DEFAULT)
    const got = seen.get(event.id)
    if (got !== undefined) {
      assert.ok(isMatch, `${event.id} does not match ${reader.query}`)
      assert.deepEqual(got, event)
      found++
      continue
    }
    if (!isMatch || isBefore(event.id, after)) continue
    const ms = Date.parse(event.ingested_at)
    if (gaps.some(([from, to]) => ms >= from && ms < to)) inGaps++
    else missing.push(event.id)
  }
  const told = `${missing.length} of "${reader.query}", ${JSON.stringify(reader.gaps)}`
  assert.deepEqual(missing.slice(0, 5), [], told)
  assert.equal(found, seen.size, 'all that came is in the list')
  return { seen: found, inGaps }
}

function isBefore(id: string, after: string): boolean {
  if (after === '') return false
  const [segment, ordinal] = id.split('-').map(BigInt) as [bigint, bigint]
  const [afterSegment, afterOrdinal] = after.split('-').map(BigInt) as [bigint, bigint]
  return segment < afterSegment || (segment === afterSegment && ordinal <= afterOrdinal)
}

function naiveOf(event: EventRecord): Parameters<typeof naiveMatches>[1] {
  return {
    json: JSON.stringify(event.payload),
    id: event.id,
    ingestedAtNs: BigInt(Date.parse(event.ingested_at)) * 1_000_000n,
    eventTimeNs: BigInt(Date.parse(event.event_time)) * 1_000_000n,
    shape: event.shape,
    level: undefined,
    service: undefined,
  }
}
