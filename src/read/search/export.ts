/**
 * Export: all events that match, without a limit, step by step, so that the writer decides when the
 * next ones are read. Nothing is held between steps but the last id.
 */

import { csvCell, safeText } from '../../bytes/csv-cell.ts'
import { IngestError } from '../../errors.ts'
import type { RecordFormat } from '../../model/batch/segment-read.ts'
import type { IdRange } from '../../model/segment-place.ts'
import type { Stream } from '../../model/stream.ts'
import { missesPaths } from '../depends-on-catalog.ts'
import { ExportLosses } from './export-losses.ts'
import {
  boundaryOf,
  type Cursor,
  findInOrder,
  formatCursor,
  isByEventTime,
  rangeEnds,
} from './find-in-order.ts'
import { readRecords } from './read-records.ts'
import { REASONS, type SearchDeps } from './search.ts'
import { idRange, type SearchRequest } from './search-request.ts'

/** Events that an export reads at a time. */
export const EXPORT_CHUNK_EVENTS = 4_096

export interface ExportTask {
  readonly request: SearchRequest
  readonly streams: readonly Stream[]
  readonly includesStreamId: boolean
  readonly kind: 'lines' | 'csv'
  /** At most this many events. */
  readonly limit: number
}

/** Bytes of one step, about. */
const STEP_BYTES = 4 * 1024 * 1024

export class Export {
  readonly #deps: SearchDeps
  readonly #task: ExportTask
  readonly #format: RecordFormat
  /** Fixed at the start: what comes meanwhile would make it endless. */
  readonly #range: IdRange
  #cursor: Cursor | undefined
  #left: number
  #isOver = false
  readonly #losses = new ExportLosses()

  private constructor(deps: SearchDeps, task: ExportTask, range: IdRange) {
    const { request, kind, limit } = task
    this.#deps = deps
    this.#task = task
    this.#range = range
    this.#format = { kind, fields: request.fields, isCsvSafe: request.isCsvSafe }
    this.#cursor = request.order === 'newest' ? request.before : request.after
    this.#left = limit
  }

  /** Throws `malformed` for what an export cannot be of, `unavailable` without the raw store. */
  static async start(deps: SearchDeps, task: ExportTask): Promise<Export> {
    const { request, kind, streams } = task
    const newestFirst = request.order === 'newest'
    const against = newestFirst ? request.after : request.before
    if (against !== undefined) {
      const cursor = newestFirst ? 'before' : 'after'
      const text = `an export from the ${request.order} event on goes on with "${cursor}"`
      throw new IngestError('malformed', text)
    }
    if (kind === 'csv' && request.fields === undefined) {
      throw new IngestError('malformed', 'CSV needs "fields": the paths that are its columns')
    }
    const sources = await deps.openStreams(streams)
    const asked = idRange(request)
    const extent = await deps.sources.readExtent(sources, { ...asked, newestFirst })
    const range = extent ?? { start: asked.start, end: asked.start }
    const started = new Export(deps, task, range)
    started.#losses.watchMarks(sources, range)
    return started
  }

  /** The text before the first event. */
  get heading(): string {
    const { kind, request, includesStreamId } = this.#task
    if (kind !== 'csv') return ''
    const cells = (request.fields ?? []).map((path) => {
      return csvCell(request.isCsvSafe ? safeText(path) : path, true)
    })
    const stream = includesStreamId ? ['_stream'] : []
    return `${[...stream, '_id', '_ingested_at', '_event_time', ...cells].join(',')}\r\n`
  }

  /** The next events, perhaps none yet; undefined after the last one. Throws as search does. */
  async next(signal: AbortSignal): Promise<readonly Uint8Array[] | undefined> {
    if (this.#isOver || this.#left === 0) return undefined
    return await this.#next(signal)
  }

  async #next(signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const { request, streams, includesStreamId } = this.#task
    const { openStreams, sources, nowMs } = this.#deps
    const newestFirst = request.order === 'newest'
    const search = {
      ids: this.#range,
      request,
      // Opened again for each step: removals and learning in the meantime count.
      streams: await openStreams(streams),
      before: newestFirst ? this.#cursor : undefined,
      after: newestFirst ? undefined : this.#cursor,
      newestFirst,
      limit: Math.min(EXPORT_CHUNK_EVENTS, this.#left),
      deadlineMs: nowMs() + request.timeoutMs,
      shown: { format: this.#format, includesStreamId },
    }
    this.#losses.watchMarks(search.streams, this.#unread)
    if (missesPaths([request.query], search.streams)) this.#losses.addUnlearned()
    const found = await findInOrder(sources, search, signal, nowMs)
    this.#losses.addUndecided(found.undecided)
    const pieces: Uint8Array[] = []
    let count = 0
    let bytes = 0
    const options = { ...search.shown, isReversed: false }
    for await (const piece of readRecords(this.#deps, found.events, options)) {
      pieces.push(piece.bytes)
      this.#losses.addDamaged(piece.damaged)
      this.#losses.addRemoved(piece.gone)
      bytes += piece.bytes.length
      count = found.events.indexOf(piece.last) + 1
      this.#cursor = piece.last
      if (bytes >= STEP_BYTES) break
    }
    this.#left -= count
    if (count < found.events.length || found.hasMore) return pieces
    if (found.shortfall === undefined) this.#isOver = true
    else this.#goOnBehind(found.frontier, found.shortfall)
    return pieces
  }

  /** The text after the last event: why the export is incomplete, else nothing. */
  get ending(): string {
    return this.#endingFor(this.#losses.reason)
  }

  /** The text after the last event of an export that cannot go on. */
  endingBroken(why: string): string {
    const { reason } = this.#losses
    return this.#endingFor(`broken off: ${why}${reason === undefined ? '' : `; ${reason}`}`)
  }

  #endingFor(reason: string | undefined): string {
    const { kind, request, includesStreamId } = this.#task
    if (reason === undefined) return ''
    if (kind !== 'csv') return `${JSON.stringify({ ...this.#losses.members, reason })}\n`
    const others = (request.fields ?? []).length + (includesStreamId ? 3 : 2)
    return `${quoted(`incomplete: ${reason}`)}${','.repeat(others)}\r\n`
  }

  /** What of the range lies ahead. */
  get #unread(): IdRange {
    const { start, end } = this.#range
    const at = this.#cursor?.segmentId
    // By event time what is unread may be in any segment.
    if (at === undefined || isByEventTime(this.#task.request)) return this.#range
    return this.#task.request.order === 'newest' ? { start, end: at } : { start: at + 1n, end }
  }

  /** A step that ran out of time is not the end; one that made no progress is. */
  #goOnBehind(frontier: bigint, shortfall: keyof typeof REASONS): void {
    const { request } = this.#task
    const newestFirst = request.order === 'newest'
    const cursor = boundaryOf(frontier, newestFirst, request)
    const last = this.#cursor
    const [start, end] = rangeEnds(request, this.#range)
    const isStuck =
      last === undefined
        ? frontier === (newestFirst ? end : start)
        : formatCursor(last, request) === formatCursor(cursor, request)
    if (isStuck) {
      throw new IngestError('unavailable', REASONS[shortfall])
    }
    this.#cursor = cursor
  }
}

/** RFC 4180, section 2, 7. */
function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`
}
