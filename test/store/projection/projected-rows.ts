/** Rows for the projection's tables, as inserts would leave them. */
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import { type SegmentId, segmentIdMs } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import type { ClickHouse } from '../../../src/store/clickhouse.ts'
import { createTableSql, projectionTable } from '../../../src/store/projection/projection-store.ts'

export interface ProjectedSegment {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  /** Events as JSON. */
  readonly payloads: readonly string[]
}

/** One insert of segments: of one stream into its own table, or of several into the shared one. */
export async function insertProjected(
  clickhouse: ClickHouse,
  table: 'own' | 'mixed',
  segments: readonly ProjectedSegment[],
): Promise<void> {
  const isMixed = table === 'mixed'
  const owner = isMixed ? MIXED_STREAM : segments[0]!.streamId
  await clickhouse.command(createTableSql(clickhouse.database, owner))
  const lines = segments.flatMap(({ streamId, segmentId, payloads }) => {
    const seconds = segmentIdMs(segmentId) / 1_000
    return payloads.map((payload, ordinal) => {
      const row = [segmentId, ordinal, seconds, seconds, 0, payload.replaceAll('\\', '\\\\')]
      return `${[...(isMixed ? [streamId] : []), ...row].join('\t')}\n`
    })
  })
  const columns = `${isMixed ? 'stream_id, ' : ''}segment_id, ordinal, ingested_at, event_time`
  const into = projectionTable(clickhouse.database, owner)
  const sql = `INSERT INTO ${into} (${columns}, shape, payload) FORMAT TSV`
  await clickhouse.insertNative(sql, [Buffer.from(lines.join(''))])
}
