/**
 * How far ClickHouse merges the parts of streams' tables. Merging a row costs more than inserting
 * it, and larger wide parts make no query faster. So parts as large as a busy stream's inserts are
 * left alone, until a table has so many that opening them becomes the cost, or has large compact
 * parts, which only merging makes wide. At full load merging would take a third of the rate, so a
 * table whose parts become many more within minutes may have more of them until that is over.
 */
import { MERGE_BYTES_MAX, MERGE_CROWDED_BYTES_MAX } from '../limits.ts'
import type { StreamId } from '../model/stream.ts'
import type { ProjectionParts, ProjectionTable } from '../store/projection/projection-parts.ts'

/** A table with so many parts in one day is crowded: they are merged further. */
export const MERGE_PARTS_CROWDED = 500
/** The same while its parts become more as fast as only full load makes them. */
export const MERGE_PARTS_CROWDED_BUSY = 2_000
export const MERGE_BUSY_PARTS_A_MINUTE = 20
/** Rounds that follow sooner say nothing of that. */
const BUSY_ROUND_MS_MIN = 5_000
/** When no day of it has as many any more, large parts are left alone again. */
export const MERGE_PARTS_RELAXED = 100
/** A table with so many parts, of all days, is crowded too: ClickHouse refuses 100,000. */
export const MERGE_TABLE_PARTS_CROWDED = 3_000
/** A crowded table's bound falls again below this. */
export const MERGE_TABLE_PARTS_RELAXED = 1_500

/** Parts of one day and of all. */
export interface PartCounts {
  readonly day: number
  readonly all: number
}

export interface MergeBoundsOptions {
  readonly parts: Pick<ProjectionParts, 'listOtherwiseMerged' | 'setMergeBytes'>
  /** For tests. */
  readonly crowded?: PartCounts
  readonly relaxed?: PartCounts
  readonly readEveryMs?: number
}

const CROWDED = { day: MERGE_PARTS_CROWDED, all: MERGE_TABLE_PARTS_CROWDED }
const RELAXED = { day: MERGE_PARTS_RELAXED, all: MERGE_TABLE_PARTS_RELAXED }
/** How long what this process knows of the bounds counts: another node may do this in between. */
const READ_EVERY_MS = 60_000

export class MergeBounds {
  readonly #options: MergeBoundsOptions
  /** Parts of each table as of the last round. */
  #seen: ReadonlyMap<StreamId, number> = new Map()
  #seenAtMs = 0
  /** Streams with another bound than the normal one. */
  #others = new Set<StreamId>()
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(options: MergeBoundsOptions) {
    this.#options = options
  }

  /** Throws the first `StoreError`, after it has tried with every table. */
  async round(
    tables: readonly Pick<ProjectionTable, 'streamId' | 'parts' | 'dayParts' | 'narrowParts'>[],
    signal: AbortSignal,
  ): Promise<void> {
    const { parts, crowded = CROWDED, relaxed = RELAXED } = this.#options
    const { readEveryMs = READ_EVERY_MS } = this.#options
    const nowMs = performance.now()
    if (nowMs - this.#readAtMs >= readEveryMs) {
      this.#others = new Set(await parts.listOtherwiseMerged())
      this.#readAtMs = nowMs
    }
    const failures: unknown[] = []
    const isBusy = this.#isBusyAt(nowMs)
    this.#seen = new Map(tables.map(({ streamId, parts: all }) => [streamId, all]))
    this.#seenAtMs = nowMs
    for (const table of tables) {
      if (signal.aborted) break
      const times = isBusy(table) ? MERGE_PARTS_CROWDED_BUSY / MERGE_PARTS_CROWDED : 1
      const isCrowded =
        table.dayParts >= crowded.day * times || table.parts >= crowded.all || table.narrowParts > 0
      const isRelaxed =
        table.dayParts < relaxed.day && table.parts < relaxed.all && table.narrowParts === 0
      const isOther = this.#others.has(table.streamId)
      if (isOther ? !isRelaxed : !isCrowded) continue
      await this.#set(table.streamId, !isOther).catch((cause) => failures.push(cause))
    }
    if (failures.length > 0) throw failures[0]
  }

  /** Whether a table has become as much larger since the last round as at full load. */
  #isBusyAt(nowMs: number): (table: Pick<ProjectionTable, 'streamId' | 'parts'>) => boolean {
    const seen = this.#seen
    const passedMs = nowMs - this.#seenAtMs
    const minutes = passedMs / 60_000
    return ({ streamId, parts }) => {
      const before = passedMs < BUSY_ROUND_MS_MIN ? undefined : seen.get(streamId)
      return before !== undefined && parts - before >= minutes * MERGE_BUSY_PARTS_A_MINUTE
    }
  }

  async #set(streamId: StreamId, isCrowded: boolean): Promise<void> {
    const bytesMax = isCrowded ? MERGE_CROWDED_BYTES_MAX : MERGE_BYTES_MAX
    await this.#options.parts.setMergeBytes(streamId, bytesMax)
    if (isCrowded) this.#others.add(streamId)
    else this.#others.delete(streamId)
  }
}
