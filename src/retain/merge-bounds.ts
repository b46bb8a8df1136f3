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
/** Over less time growth says nothing of that. */
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

/** From which counts on a table is crowded. */
export interface CrowdedCounts extends PartCounts {
  /** In place of `day` while parts become more as fast as only full load makes them. */
  readonly busyDay: number
}

export interface MergeBoundsOptions {
  readonly parts: Pick<ProjectionParts, 'listOtherwiseMerged' | 'setMergeBytes'>
  /** For tests. */
  readonly crowded?: CrowdedCounts
  readonly relaxed?: PartCounts
  readonly readEveryMs?: number
}

const CROWDED = {
  day: MERGE_PARTS_CROWDED,
  busyDay: MERGE_PARTS_CROWDED_BUSY,
  all: MERGE_TABLE_PARTS_CROWDED,
}
const RELAXED = { day: MERGE_PARTS_RELAXED, all: MERGE_TABLE_PARTS_RELAXED }
/** How long what this process knows of the bounds counts: another node may do this in between. */
const READ_EVERY_MS = 60_000

export class MergeBounds {
  readonly #options: MergeBoundsOptions
  /** Parts of each table at an earlier round. */
  #seen: ReadonlyMap<StreamId, number> = new Map()
  #seenAtMs = Number.NEGATIVE_INFINITY
  /** Tables whose parts do not become more that fast. */
  #calm: ReadonlySet<StreamId> = new Set()
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
    this.#watch(tables, nowMs)
    for (const table of tables) {
      if (signal.aborted) break
      const { day, busyDay } = crowded
      const dayMax = this.#calm.has(table.streamId) ? day : busyDay
      const isCrowded =
        table.dayParts >= dayMax || table.parts >= crowded.all || table.narrowParts > 0
      const isRelaxed =
        table.dayParts < relaxed.day && table.parts < relaxed.all && table.narrowParts === 0
      const isOther = this.#others.has(table.streamId)
      if (isOther ? !isRelaxed : !isCrowded) continue
      await this.#set(table.streamId, !isOther).catch((cause) => failures.push(cause))
    }
    if (failures.length > 0) throw failures[0]
  }

  /** Until a table was seen twice nobody knows: a start may be amid full load. */
  #watch(tables: readonly Pick<ProjectionTable, 'streamId' | 'parts'>[], nowMs: number): void {
    const passedMs = nowMs - this.#seenAtMs
    if (passedMs < BUSY_ROUND_MS_MIN) return
    const grownMax = (passedMs / 60_000) * MERGE_BUSY_PARTS_A_MINUTE
    const calm = tables.filter(({ streamId, parts }) => {
      return parts - (this.#seen.get(streamId) ?? Number.NEGATIVE_INFINITY) < grownMax
    })
    this.#calm = new Set(calm.map(({ streamId }) => streamId))
    this.#seen = new Map(tables.map(({ streamId, parts }) => [streamId, parts]))
    this.#seenAtMs = nowMs
  }

  async #set(streamId: StreamId, isCrowded: boolean): Promise<void> {
    const bytesMax = isCrowded ? MERGE_CROWDED_BYTES_MAX : MERGE_BYTES_MAX
    await this.#options.parts.setMergeBytes(streamId, bytesMax)
    if (isCrowded) this.#others.add(streamId)
    else this.#others.delete(streamId)
  }
}
