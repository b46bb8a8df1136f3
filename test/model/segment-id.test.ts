/** Goal: PostgreSQL finds a node's segments by its index. Method: both texts, side by side. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeOfSegment } from '../../src/model/segment-id.ts'
import { sql } from '../../src/store/migrations/0001-schema.ts'

test('the node of a segment is asked for just as the index has it', () => {
  const expression = nodeOfSegment('segment_id')
  assert(sql.includes(`CREATE INDEX segments_by_node ON segments (${expression}, segment_id)`))
})
