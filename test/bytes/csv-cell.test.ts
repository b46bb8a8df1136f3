/**
 * Goal: a cell of CSV is read back as it was; made safe for a spreadsheet it differs by the mark
 * alone, and none begins with what a spreadsheet runs but numbers.
 * Method: rows of any text, the dangerous characters more often than others, written and read by a
 * reader of RFC 4180 of its own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { csvCell, safeText } from '../../src/bytes/csv-cell.ts'

/** Of RFC 4180, section 2; throws on what it does not allow. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/gy
  for (let end = 0; end < text.length; ) {
    cell.lastIndex = end
    const found = cell.exec(text)
    assert.ok(found !== null, `no cell at ${end} of ${JSON.stringify(text)}`)
    const [whole, written = '', next] = found
    const isQuoted = written.startsWith('"')
    rows.at(-1)!.push(isQuoted ? written.slice(1, -1).replaceAll('""', '"') : written)
    end += whole.length
    if (next === '\r\n' && end < text.length) rows.push([])
  }
  return rows
}

const DANGEROUS = ['=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠']
const unit = fc.oneof(
  fc.constantFrom(...DANGEROUS, '"', ',', "'", ';', ' ', '1', '5', '.', 'e'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
)
const texts = fc.oneof(fc.string({ unit, maxLength: 8 }), fc.double().map(String))
const tables = fc.array(fc.array(texts, { minLength: 1, maxLength: 5 }), { minLength: 1 })
const written = (table: readonly string[][], toCell: (text: string) => string) =>
  table.map((row) => `${row.map((text) => csvCell(toCell(text), true)).join(',')}\r\n`).join('')

test('every text is read back as it was', () => {
  fc.assert(
    fc.property(tables, (table) => {
      assert.deepEqual(readCsv(written(table, String)), table)
    }),
  )
})

test('safe text has at most the mark before it, and begins with nothing that is run', () => {
  fc.assert(
    fc.property(tables, (table) => {
      const back = readCsv(written(table, safeText))
      for (const [at, row] of table.entries()) {
        for (const [column, text] of row.entries()) {
          const cell = back[at]![column]!
          const isDangerous = DANGEROUS.includes(text[0] ?? '')
          const isNumber = text === text.trim() && Number.isFinite(Number(text))
          // What reads as a number runs nothing, marked or not.
          const allowed = [
            ...(isDangerous && !isNumber ? [] : [text]),
            ...(isDangerous ? [`'${text}`] : []),
          ]
          assert.ok(allowed.includes(cell), `${JSON.stringify(text)}: ${JSON.stringify(cell)}`)
        }
      }
    }),
  )
})

test('numbers stay numbers, and what only begins like one does not', () => {
  for (const text of ['-5', '+1.5e3', '-0.25', '5', '-1E-9']) assert.equal(safeText(text), text)
  for (const text of ['-5+1', '-5 ', '+-1', '-', '-.', '-Infinity', '+1;=x', '-1\n', '=5']) {
    assert.equal(safeText(text), `'${text}`)
  }
})
