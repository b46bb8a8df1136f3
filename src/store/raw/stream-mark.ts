/**
 * Up to where streams are in the projection, by a row of `checkpoints`. Its `segment_id` holds for
 * all streams. `live_segment_id`, where there is one, is further, and holds for all but those in
 * `behind`, in which `MIXED_STREAM` stands for any stream. What was once true of either stays so:
 * nothing leaves the projection that is not removed from everywhere.
 */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'

/** SQL for the mark by the columns of `row`; `streams` is SQL for an `integer[]`. */
export function streamMarkSql(row: string, streams: string): string {
  return `CASE WHEN ${row}.behind && (${streams} || ${MIXED_STREAM}) THEN ${row}.segment_id
    ELSE GREATEST(${row}.segment_id, ${row}.live_segment_id) END`
}
