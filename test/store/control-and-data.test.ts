/**
 * Goal: the control plane and a cell may be in different databases: no statement names tables of
 * both. Method: every text in the code that is SQL, against the tables of either side.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSourceFiles } from '../source-files.ts'

const CONTROL = ['streams', 'api_keys', 'access_tokens', 'control_version', 'control_changes']
const DATA = [
  'segments',
  'segment_runs',
  'stream_segments',
  'stream_storage',
  'stream_usage',
  'stream_refusals',
  'stream_rejects',
  'stream_refusal_history',
  'stream_key_usage',
  'stream_schemas',
  'stream_fields',
  'stream_shapes',
  'stream_shape_paths',
  'stream_schema_marks',
  'set_aside_segments',
  'checkpoints',
  'observe_checkpoints',
  'idempotency_keys',
  'idempotency_bytes',
  'nodes',
]

function namesOf(statement: string, tables: readonly string[]): string[] {
  return tables.filter((table) => {
    return new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\\s+${table}\\b`, 'i').test(statement)
  })
}

test('no statement names tables of the control plane and of a cell', () => {
  const joined: string[] = []
  for (const { path, text } of readSourceFiles()) {
    if (!path.startsWith('src/') || path.includes('/migrations/')) continue
    for (const [statement] of text.matchAll(/`[^`]*`/g)) {
      const control = namesOf(statement, CONTROL)
      const data = namesOf(statement, DATA)
      if (control.length > 0 && data.length > 0) joined.push(path)
    }
  }
  assert.deepEqual([...new Set(joined)], [])
})
