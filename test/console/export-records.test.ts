/**
 * Goal: an export is cut into whole records, however it arrives; they are counted, and a last line
 * that tells what is missing is read, also where the connection broke within it or without it.
 * Method: the text of an export in random chunks.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type ExportKind, ExportRecords, endingLine } from '../../console/export/export-records.ts'

const CSV = [
  '_id,_ingested_at,_event_time,"a\n""b"\r\n',
  '77-0,t,t,"line\r\nand ""line"""\r\n',
  '77-1,t,t,"""incomplete: x"\r\n',
  '77-2,t,t,\r\n',
]
const LINES = ['{"id":"77-0","payload":{"s":"é\\"\\n"}}\n', '{"id":"77-1"}\n', '{"id":"77-2"}\n']
const WHY = 'broken off: "why", é'

/** What comes out of it, cut at these places. */
function run(kind: ExportKind, text: string, cuts: readonly number[] = []) {
  const bytes = new TextEncoder().encode(text)
  const records = new ExportRecords(kind)
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length]
  places.sort((a, b) => a - b)
  const pieces = places.flatMap((place, at) => {
    const taken = records.take(bytes.slice(place, places[at + 1] ?? place))
    const text = Buffer.concat(taken).toString()
    assert.ok(text === '' || text.endsWith('\n'), 'only whole records')
    return [...taken]
  })
  const { rest, reason } = records.end()
  return { text: Buffer.concat([...pieces, ...rest]).toString(), events: records.events, reason }
}

const cuts = fc.array(fc.nat(), { maxLength: 12 })
const kinds = ['csv', 'lines'] as const

for (const kind of kinds) {
  const text = (kind === 'csv' ? CSV : LINES).join('')
  const last = endingLine(kind, 4, WHY)

  test(`${kind}: all of it comes out, and its events are counted, in any chunks`, () => {
    fc.assert(
      fc.property(cuts, (at) => {
        assert.deepEqual(run(kind, text, at), { text, events: 3, reason: undefined })
        assert.deepEqual(run(kind, text + last, at), { text: text + last, events: 3, reason: WHY })
      }),
    )
  })

  test(`${kind}: a record that was cut off is none, a last line without its end is one`, () => {
    fc.assert(
      fc.property(cuts, fc.integer({ min: 1, max: 8 }), (at, cut) => {
        const { text: whole, events, reason } = run(kind, text.slice(0, -cut), at)
        assert.equal(text.startsWith(whole) && whole.endsWith('\n'), true)
        assert.deepEqual([events, reason], [2, undefined])
        const told = run(kind, text + last.trimEnd(), at)
        assert.deepEqual(told, { text: text + last, events: 3, reason: WHY })
        const half = run(kind, text + last.slice(0, cut), at)
        assert.deepEqual(half, { text, events: 3, reason: undefined })
      }),
    )
  })

  test(`${kind}: nothing, and a last line alone`, () => {
    const heading = kind === 'csv' ? CSV[0]! : ''
    assert.deepEqual(run(kind, heading), { text: heading, events: 0, reason: undefined })
    assert.deepEqual(run(kind, ''), { text: '', events: 0, reason: undefined })
    const told = run(kind, heading + last)
    assert.deepEqual(told, { text: heading + last, events: 0, reason: WHY })
  })
}
