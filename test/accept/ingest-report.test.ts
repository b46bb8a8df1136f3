/** Goal: a reply describes the request as one body, however many parts it was decoded in. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestReport } from '../../src/accept/ingest-report.ts'
import { REPLY_ERRORS_MAX } from '../../src/limits.ts'
import type { EventReject, PartResult } from '../../src/model/batch/part-result.ts'

function part(fields: Partial<PartResult>): PartResult {
  return {
    accepted: 0,
    rejected: 0,
    rejectedByCode: {},
    lines: 0,
    items: 0,
    repaired: 0,
    acceptedBytes: 0,
    rejects: [],
    fatal: undefined,
    ...fields,
  }
}

const reject = (index: number, line: number): EventReject => {
  return { index, line, code: 'malformed', message: 'm' }
}

test('indexes and lines continue from part to part', () => {
  const report = new IngestReport()
  report.skipLines(2)
  report.add(part({ accepted: 2, rejected: 1, items: 3, lines: 5, rejects: [reject(1, 2)] }))
  report.add(part({ accepted: 1, rejected: 1, items: 2, lines: 2, rejects: [reject(0, 1)] }))
  assert.deepEqual(report.errors, [reject(1, 4), reject(3, 8)])
  assert.deepEqual(JSON.parse(report.body), {
    accepted: 3,
    rejected: 2,
    errors: [reject(1, 4), reject(3, 8)],
  })
})

test('counts and reasons are added up', () => {
  const report = new IngestReport()
  const one = { accepted: 1, acceptedBytes: 10, repaired: 1, rejected: 2 }
  report.add(part({ ...one, rejectedByCode: { malformed: 1, too_deep: 1 } }))
  report.add(part({ ...one, rejectedByCode: { malformed: 2 } }))
  assert.deepEqual([report.acceptedBytes, report.repaired, report.rejected], [20, 2, 4])
  assert.deepEqual(
    [...report.rejectedByCode],
    [
      ['malformed', 3],
      ['too_deep', 1],
    ],
  )
})

test('REPLY_ERRORS_MAX errors are described over all parts', () => {
  const report = new IngestReport()
  const rejects = Array.from({ length: REPLY_ERRORS_MAX - 1 }, (_, i) => reject(i, i + 1))
  const rejected = rejects.length
  const items = rejected
  for (let i = 0; i < 2; i++) report.add(part({ accepted: 1, rejected, items, rejects }))
  assert.equal(report.errors.length, REPLY_ERRORS_MAX)
  assert.equal(report.rejected, 2 * rejected)
})

test('the first part that failed entirely is reported, at its position', () => {
  const report = new IngestReport()
  report.add(part({ accepted: 5, items: 5, lines: 4 }))
  assert.equal(report.fatal, undefined)
  report.add(part({ items: 1, lines: 3, fatal: reject(1, 3) }))
  report.add(part({ fatal: reject(0, 1) }))
  assert.deepEqual(report.fatal, reject(6, 7))
})

test('a body without rejects gets the short reply', () => {
  const report = new IngestReport()
  report.add(part({ accepted: 3 }))
  assert.equal(report.body, '{"accepted":3,"rejected":0,"errors":[]}')
})
