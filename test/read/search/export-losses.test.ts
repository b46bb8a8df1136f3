/** Goal: what an export could not give is told, and nothing where all was given. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXPORT_DAMAGED_MAX } from '../../../src/limits.ts'
import type { SourceStream } from '../../../src/model/field-catalog.ts'
import { ExportLosses } from '../../../src/read/search/export-losses.ts'

const marked = (mark: bigint) => [{ streamId: 7, removedBefore: mark } as unknown as SourceStream]

test('a mark counts when it rises over what was not read yet', () => {
  const cases: readonly (readonly [marks: bigint[], unread: [bigint, bigint], told: boolean])[] = [
    [[50n, 50n], [10n, 100n], false],
    [[50n, 60n], [10n, 100n], true],
    [[50n, 60n], [60n, 100n], false],
    [[50n, 60n], [10n, 50n], false],
    [[0n, 500n], [10n, 100n], true],
    [[0n, 10n], [10n, 100n], false],
  ]
  for (const [marks, [start, end], told] of cases) {
    const losses = new ExportLosses()
    for (const mark of marks) losses.watchMarks(marked(mark), { start, end })
    const reason = told ? 'retention removed events before they were read' : undefined
    assert.equal(losses.reason, reason, JSON.stringify([marks, start, end].map(String)))
  }
})

test('EXPORT_DAMAGED_MAX damaged segments are named, all their events counted', () => {
  const losses = new ExportLosses()
  for (let n = 0; n <= EXPORT_DAMAGED_MAX; n++) {
    losses.addDamaged([{ segmentId: String(n), events: 2 }])
  }
  losses.addUndecided(3)
  assert.match(
    losses.reason ?? '',
    /^202 events are in damaged segments; 3 events were passed over/,
  )
  assert.equal(losses.members.damaged?.length, EXPORT_DAMAGED_MAX)
})
