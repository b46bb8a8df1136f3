/**
 * Goal: whatever an address or an event says of times, the page shows something. Method: ranges
 * that are none, and times that no calendar has, where the page makes text of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRoute } from '../../console/base/address.ts'
import { momentMs } from '../../console/base/moment.ts'
import { formatTime, rangeLabel, toInputValue } from '../../console/base/time.ts'
import { linkOf } from '../../console/share/link.ts'

const NOW_MS = Date.parse('2026-01-31T12:00:00Z')
const ODD = ['-999999999w', 'now-99999999d', '+275760-09-13T00:00:00Z', '-271821-04-20T00:00:00Z']

test('what lies thousands of years away is no moment', () => {
  for (const text of [...ODD, 'yesterday', '', '-1y'])
    assert.equal(momentMs(text, NOW_MS), undefined)
  assert.equal(momentMs('now-1h', NOW_MS), NOW_MS - 3_600_000)
  for (const edge of ['0001-01-02T00:00:00Z', '9998-12-31T23:59:59Z', '-50000w']) {
    const ms = momentMs(edge, NOW_MS)!
    assert.match(toInputValue(ms), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/, edge)
  }
  assert.equal(formatTime(Number.NaN), '–')
})

test('a range that is none has a label, which is seen and short; a link keeps it', () => {
  for (const from of [...ODD, '\u202egnp', 'x'.repeat(65_536), '-\u0000', '__proto__']) {
    const label = rangeLabel(from, 'now')
    assert.doesNotMatch(label, /[\p{Cc}\p{Cf}]/u)
    assert.ok(label.length < 100, label)
    const address = linkOf(readRoute(`#/explore?${new URLSearchParams({ from })}`), {
      isFixed: true,
      nowMs: NOW_MS,
    })
    assert.equal(readRoute(address).params.get('from'), from)
  }
})
