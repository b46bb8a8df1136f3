/** Where a node's inserts go, and what can be known of them there. */
import type { StreamSegment } from '../../model/projection.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { ClickHouse, QuerySettings } from '../clickhouse.ts'
import { PresentSegments } from './present-segments.ts'

/** In the order of the blocks. */
export type InsertColumns = readonly (readonly [name: string, type: string])[]

/** All of it throws `StoreError`: `unavailable` where it cannot be known now. */
export interface InsertPlace {
  /** Inserts, and statements about tables, are sent there. */
  readonly clickhouse: ClickHouse
  /** Of an insert that begins now, beside its own. */
  settings(): QuerySettings
  /** The statement of an insert that begins now; `table` as statements name it. */
  insertSql(table: string, columns: InsertColumns): string
  /** Resolves when what was inserted into the table is wherever it has to be. */
  stored(table: string): Promise<void>
  /** An insert failed. */
  failed(cause: unknown): void
  /** Which of the segments are in the projection, whichever insert of this node brought them. */
  findPresent(segments: readonly StreamSegment[]): Promise<ReadonlySet<SegmentId>>
  /** Ids of inserts that run now, and may still take effect: those that begin with `prefix`. */
  findRunning(prefix: string): Promise<string[]>
}

/** One server: what it shows is all there is. */
export class OneServer implements InsertPlace {
  readonly clickhouse: ClickHouse
  readonly #present: PresentSegments

  constructor(clickhouse: ClickHouse) {
    this.clickhouse = clickhouse
    this.#present = new PresentSegments(clickhouse)
  }

  settings(): QuerySettings {
    return {}
  }

  insertSql(table: string, columns: InsertColumns): string {
    return `INSERT INTO ${table} (${columns.map(([name]) => name).join(', ')}) FORMAT Native`
  }

  async stored(): Promise<void> {
    // The answer said so.
  }

  failed(): void {
    // What an insert of unknown outcome has brought is seen by the next look.
  }

  findPresent(segments: readonly StreamSegment[]): Promise<ReadonlySet<SegmentId>> {
    return this.#present.find(segments)
  }

  findRunning(prefix: string): Promise<string[]> {
    return findRunningInserts(this.clickhouse, prefix)
  }
}

/** On the server that is asked. */
export async function findRunningInserts(
  clickhouse: ClickHouse,
  prefix: string,
  signal?: AbortSignal,
): Promise<string[]> {
  const rows = await clickhouse.query<{ id: string }>(
    // The embedded engine shows our query id only at the end of its own `log_comment`.
    `SELECT concat(query_id, Settings['log_comment']) AS id FROM system.processes
      WHERE startsWith(query_id, {prefix:String})
         OR position(Settings['log_comment'], {tag:String}) > 0`,
    { prefix, tag: `/${prefix}` },
    {},
    signal && { signal },
  )
  return rows.map(({ id }) => id)
}
