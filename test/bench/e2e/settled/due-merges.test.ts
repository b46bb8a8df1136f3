/** Goal: parts on disk tell whether ClickHouse will merge them. Method: directories as it has. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isMergeDue } from '../../../../bench/e2e/settled/due-merges.ts'

function isDue(parts: readonly (readonly [name: string, bytes: number])[], table = 'events_7') {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-due-'))
  try {
    for (const [name, bytes] of parts) {
      const part = join(directory, 'clickhouse', 'data', 'data', 'sluice', table, name)
      mkdirSync(part, { recursive: true })
      writeFileSync(join(part, 'data.bin'), Buffer.alloc(bytes))
    }
    return isMergeDue(directory, 100)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test('neighbours of a day that are small together are due', () => {
  assert.ok(
    isDue([
      ['20261123_1_1_0', 60],
      ['20261123_2_2_0', 40],
    ]),
  )
  assert.ok(
    !isDue([
      ['20261123_1_1_0', 60],
      ['20261123_2_2_0', 41],
    ]),
  )
  assert.ok(
    !isDue([
      ['20261123_1_1_0', 10],
      ['20261124_2_2_0', 10],
    ]),
  )
  assert.ok(
    !isDue([
      ['20261123_1_1_0', 10],
      ['20261123_2_2_0', 95],
      ['20261123_3_3_0', 10],
    ]),
  )
})

test('parts that were merged or changed already are not, nor others than of streams', () => {
  assert.ok(
    !isDue([
      ['20261123_1_1_0', 10],
      ['20261123_2_2_0', 10],
      ['20261123_1_2_1', 20],
      ['20261123_1_2_1_5', 20],
      ['detached', 0],
      ['tmp_merge_20261123_1_2_1', 20],
    ]),
  )
  const small = [
    ['20261123_1_1_0', 10],
    ['20261123_2_2_0', 10],
  ] as const
  assert.ok(!isDue(small, 'events_0'))
  assert.ok(!isDue([]))
})
