/** A hub of tails on a raw store in memory; events are texts that hold the query or not. */

import type { CommittedGroup } from '../../src/model/batch/committed-group.ts'
import type { StreamSegment } from '../../src/model/projection.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { CommittedEntry } from '../../src/model/segment-place.ts'
import type { Stream, StreamId } from '../../src/model/stream.ts'
import type { MatchResult, MatchTask } from '../../src/pool/messages.ts'
import type { TailWriter } from '../../src/tail/tail.ts'
import { TailHub, type TailHubOptions } from '../../src/tail/tail-hub.ts'

export const OWN_NODE = 1
export const STREAM = 7 as StreamId
const BEGIN_MS = Date.now() - 60_000

interface StoredSegment extends CommittedEntry {
  readonly payload: Uint8Array
}

/** Events are texts; a payload is their JSON. */
export class FakeStore {
  readonly segments: StoredSegment[] = []
  #ms = BEGIN_MS
  reads = 0
  polls = 0

  commit(node: number, events: readonly string[], streamId = STREAM): StoredSegment {
    const segmentId = makeSegmentId({ ms: this.#ms++, node, counter: 0 })
    const eventCount = events.length
    const payload = Buffer.from(JSON.stringify(events))
    const segment = { node, streamId, segmentId, eventCount, firstEvent: 0, payload }
    this.segments.push(segment)
    return segment
  }

  async readNewest(): Promise<Map<number, bigint>> {
    const newest = new Map<number, bigint>([
      [OWN_NODE, 0n],
      [2, 0n],
    ])
    for (const { node, segmentId } of this.segments) newest.set(node, segmentId)
    return newest
  }

  async readAfter({ after, except, limit }: Parameters<TailHubOptions['store']['readAfter']>[0]) {
    this.polls++
    const entries = this.segments.filter(({ node, segmentId }) => {
      return node !== except && segmentId > (after.get(node) ?? 0n)
    })
    return { entries: entries.slice(0, limit), hasMore: entries.length > limit }
  }

  async readMissed({ streamId, ranges }: Parameters<TailHubOptions['store']['readMissed']>[0]) {
    return this.segments
      .filter((one) => {
        const range = ranges.find(({ node }) => node === one.node)
        if (range === undefined || one.streamId !== streamId) return false
        return one.segmentId > range.after && one.segmentId <= range.upTo
      })
      .reverse()
  }

  async listSegments(range: { streamId: StreamId; start: bigint; end: bigint }) {
    return this.segments
      .filter(({ streamId, segmentId: id }) => {
        return streamId === range.streamId && id >= range.start && id < range.end
      })
      .map(({ segmentId, eventCount }) => ({ segmentId, eventCount, rawBytes: 1 }))
      .reverse()
  }

  async readPayloads(keys: readonly StreamSegment[]) {
    if (keys.length > 0) this.reads++
    return new Map(
      keys.flatMap((key) => {
        const found = this.segments.find(({ segmentId }) => segmentId === key.segmentId)
        return found === undefined ? [] : [[key.segmentId, { ...found, eventBytes: 1 }] as const]
      }),
    )
  }
}

/** As the worker's task does it: a record is the id and the text. */
export async function fakeMatch({
  reads,
  queries,
}: Pick<MatchTask, 'reads' | 'queries'>): Promise<Pick<MatchResult, 'queries' | 'events'>> {
  const found: { read: number; ordinal: number; json: Buffer; queries: boolean[] }[] = []
  for (const [read, one] of reads.entries()) {
    const texts = JSON.parse(Buffer.from(one.payload).toString()) as string[]
    for (let ordinal = one.fromOrdinal; ordinal < one.toOrdinal; ordinal++) {
      const text = texts[ordinal]!
      const matched = queries.map((query) => text.includes(query.text))
      if (!matched.includes(true)) continue
      const json = Buffer.from(JSON.stringify({ id: `${one.segmentId}-${ordinal}`, text }))
      found.push({ read, ordinal, json, queries: matched })
    }
  }
  let end = 0
  const ends = found.map(({ json }) => (end += json.length))
  return {
    queries: queries.map((_, query) => ({
      events: Uint32Array.from(found.flatMap((one, i) => (one.queries[query] ? [i] : []))),
      stopped: undefined,
      undecided: 0,
    })),
    events: {
      count: found.length,
      read: Uint32Array.from(found.map(({ read }) => read)),
      ordinal: Uint32Array.from(found.map(({ ordinal }) => ordinal)),
      timeNs: new BigInt64Array(found.length),
      json: Buffer.concat(found.map(({ json }) => json)),
      jsonEnd: Uint32Array.from(ends),
    },
  }
}

/** What a reader got, message by message; `takes` says whether it takes what is written. */
export class FakeWriter implements TailWriter {
  isOver = false
  takes = true
  text = ''
  #waiting: (() => void)[] = []

  write(bytes: Uint8Array): boolean {
    this.text += Buffer.from(bytes).toString()
    return this.takes
  }

  whenTaken(): Promise<void> {
    if (this.takes || this.isOver) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  drop(): void {
    this.isOver = true
    this.take()
  }

  take(): void {
    this.takes = true
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  get messages(): { event: string; id: string; data: Record<string, unknown> }[] {
    return this.text.split('\n\n').flatMap((message) => {
      const lines = new Map(
        message.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]),
      )
      const data = lines.get('data')
      if (data === undefined) return []
      const [event = 'message', id = ''] = [lines.get('event'), lines.get('id')]
      return [{ event, id, data: JSON.parse(data) as Record<string, unknown> }]
    })
  }

  get texts(): unknown[] {
    return this.messages.flatMap(({ event, data }) => (event === 'message' ? [data.text] : []))
  }
}

export function createHub(store: FakeStore, options: Partial<TailHubOptions> = {}) {
  const left: [string, number][] = []
  const errors: unknown[] = []
  const hub = new TailHub({
    ownNode: OWN_NODE,
    store,
    events: store,
    match: fakeMatch,
    matchNow: fakeMatch,
    findStreams: async (ids) => ids.map((streamId) => ({ streamId, textFields: [] }) as never),
    cooldownMs: () => 0,
    observer: {
      onEvents: () => undefined,
      onGap: (reason, events) => left.push([reason, events]),
    },
    onError: (cause) => errors.push(cause),
    nowMs: Date.now,
    nextTurn: async () => undefined,
    ...options,
  })
  /** As commit forwards it. */
  const commit = (events: readonly string[], streamId = STREAM): SegmentId => {
    const segment = store.commit(OWN_NODE, events, streamId)
    const { segmentId, eventCount, payload } = segment
    const group = { segments: [{ streamId, segmentId, eventCount }] }
    hub.add(group as unknown as CommittedGroup, [{ payload }])
    return segmentId
  }
  const open = (query = '', request: Partial<Parameters<TailHub['run']>[0]> = {}) => {
    const writer = new FakeWriter()
    const gone = new AbortController()
    const stream = { streamId: STREAM, textFields: [] } as unknown as Stream
    const asked = { stream, query, start: { kind: 'now' }, limitPerS: undefined } as const
    const rights = { tokenId: 1, renew: async () => undefined }
    const running = hub.run({ ...asked, ...rights, ...request }, writer, gone.signal)
    const stop = async () => {
      writer.drop()
      gone.abort()
      await running
    }
    return { writer, running, stop, gone }
  }
  return { hub, commit, open, left, errors }
}
